"""Importing this imports all that a command may need, with the service that it runs in-process."""

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
for command in (*COMMANDS, "nova_manage"):
    importlib.import_module(f"compute.cli.{command}")
importlib.import_module("placement.direct")
importlib.import_module("tests.functional.compute.maintenance.drivers")
import_all()
