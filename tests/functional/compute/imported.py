"""Importing this imports all that the programs of the compute side may need.

The commands also need the service, which they run in their own process.
"""

import importlib

from placement.app import import_all

COMMANDS = (
    "adopt_provider",
    "audit",
    "devices",
    "drain",
    "heal_allocations",
    "migrate_compute_inventory",
)
for command in (*COMMANDS, "nova_manage", "tree", "agent", "berth_compute"):
    importlib.import_module(f"compute.cli.{command}")
for module in (
    "placement.direct",
    "tests.functional.compute.compute_host",
    "tests.functional.compute.maintenance.drivers",
    "virt.fake",
    "virt.host",
):
    importlib.import_module(module)
import_all()
