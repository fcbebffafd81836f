"""Importing this imports all that the programs of the compute side may need.

The commands also need the service, which they run in their own process.
"""

import importlib
import pkgutil

import compute.cli
from placement.app import import_all

for command in pkgutil.walk_packages(compute.cli.__path__, "compute.cli."):
    importlib.import_module(command.name)
for module in (
    "placement.direct",
    "tests.functional.compute.compute_host",
    # what a forked process needs to begin
    "tests.functional.compute.forked",
    "tests.functional.compute.maintenance.drivers",
    "virt.fake",
    "virt.host",
):
    importlib.import_module(module)
import_all()
