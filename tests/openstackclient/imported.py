"""Importing this imports all that the program `openstack` needs for commands of placement."""

import contextlib
import importlib
import io
import os
import pkgutil
from unittest import mock

import compute.osc

# It looks for clouds where it is at home when it is imported: not those of whoever runs the tests.
with mock.patch.dict(os.environ, HOME=os.devnull, XDG_CONFIG_HOME=os.devnull):
    shell = importlib.import_module("openstackclient.shell")
    # it imports most of itself when it reads a command line
    with contextlib.redirect_stdout(io.StringIO()):
        shell.main(["resource", "provider", "list", "--help"])
for module in pkgutil.iter_modules(compute.osc.__path__, "compute.osc."):
    importlib.import_module(module.name)
