"""Importing this imports all that the program `openstack` needs for commands of placement."""

import contextlib
import gc
import importlib
import io
import logging
import os
import pkgutil
import sys
from unittest import mock

import osc_placement.resources

import compute.osc

# what a forked process needs to begin
from tests.openstackclient import programs
from tests.parents import end_with_parent_and_children

end_with_parent_and_children()

#: nothing answers there
NOWHERE = {"OS_AUTH_TYPE": "admin_token", "OS_TOKEN": "t", "OS_ENDPOINT": "http://127.0.0.1:1"}

#: what the entry points found on it are cached by
PATH = list(sys.path)
for package in (compute.osc, osc_placement.resources):
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
# It looks for clouds where it is at home when it is imported: not those of whoever runs the tests.
home = {"HOME": os.devnull, "XDG_CONFIG_HOME": os.devnull}
with mock.patch.dict(os.environ, programs.environ_of_none() | home | NOWHERE, clear=True):
    shell = importlib.import_module("openstackclient.shell")
    # it imports most of itself, and fills its caches, when it runs commands
    with contextlib.redirect_stderr(io.StringIO()) as told:
        shell.main(["capacity", "show", "--resource", "VCPU=1"])
        shell.main(["resource", "provider", "list"])
if told.getvalue().count("Unable to establish connection") < 2:
    raise RuntimeError(told.getvalue())
logging.getLogger().handlers.clear()
# a forked process would copy what its collector of garbage looks at
gc.freeze()
