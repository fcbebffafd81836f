"""Importing this imports all that the program `openstack` needs for commands of placement."""

import contextlib
import io
import pkgutil

from openstackclient import shell

import compute.osc

# it imports most of itself when it reads a command line
with contextlib.redirect_stdout(io.StringIO()):
    shell.main(["resource", "provider", "list", "--help"])
for module in pkgutil.iter_modules(compute.osc.__path__, "compute.osc."):
    __import__(module.name)
