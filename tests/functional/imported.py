"""Importing this imports all that forked processes of the tests may need.

The commands also need the service, which they run in their own process. Python says nothing if
this fails in the process that others are forked from: `test_forked.py` does.
"""

import gc
import importlib
import pkgutil

from compute.cli import commands
from placement.app import import_all, list_rules
from tests.parents import end_with_parent_and_children

end_with_parent_and_children()

for module in pkgutil.iter_modules(commands.__path__, f"{commands.__name__}."):
    importlib.import_module(module.name)
for name in (
    "compute.cli.agent",
    "compute.cli.berth_compute",
    "compute.cli.nova_manage",
    "placement.direct",
    "tests.concurrency.clients",
    "tests.functional.compute.compute_host",
    "tests.functional.forked",
    "tests.functional.compute.maintenance.drivers",
    "tests.functional.compute.maintenance.killable",
    "tests.functional.placement.processes",
    "virt.fake",
    "virt.host",
):
    importlib.import_module(name)
import_all()
list_rules()
# a forked process would copy what its collector of garbage looks at
gc.freeze()
