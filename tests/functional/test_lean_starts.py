"""Programs import only what they need: what `--version`, `--help` and the service leave out."""

import json
import os
import subprocess
import sys

import pytest

from tests.functional.placement.serving.conftest import configuration

#: packages that take long to import
HEAVY = {
    *("alembic", "flask", "gunicorn", "jsonschema", "jsonschema_rs", "keystoneauth1", "numpy"),
    *("prettytable", "prometheus_client", "requests", "rich", "sqlalchemy"),
}
RUN = """
import json, runpy, sys
module, *sys.argv[1:] = sys.argv[1:]
try:
    runpy.run_module(module, run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def imported(tmp_path, *command, code=RUN):
    """Return the names of the packages that a program has imported at its end."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *command],
        env=configuration(tmp_path) | {"PYTHONPATH": os.getcwd()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stderr.splitlines()[-1]))


@pytest.mark.parametrize("option", ["--version", "--help"])
@pytest.mark.parametrize(
    ("module", "needed"),
    [
        ("placement.cli.serve", set()),
        # oslo.config needs requests
        ("placement.cli.manage", {"requests"}),
        # oslo.upgradecheck needs prettytable
        ("placement.cli.status", {"requests", "prettytable"}),
        ("compute.cli.berth_compute", set()),
        ("compute.cli.nova_manage", set()),
    ],
)
def test_version_and_help_import_little(tmp_path, module, needed, option):
    assert (imported(tmp_path, module, option) & HEAVY) - needed == set()


def test_the_list_of_heavy_packages_is_that_of_installed_ones(tmp_path):
    found = imported(tmp_path, code=f"import {', '.join(sorted(HEAVY))}\n{SHOWN}")
    assert found >= HEAVY


SHOWN = "import json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
SERVED = "from placement.wsgi import init_application\nserved = init_application()\n"
SERVICE = f"{SERVED}{SHOWN}"
#: sends GET requests, and asserts their status
ASKED = f"""{SERVED}
import sys
from werkzeug.test import Client

headers = {{"x-auth-token": "admin", "openstack-api-version": "placement latest"}}
for path in sys.argv[1:]:
    assert Client(served).get(path, headers=headers).status_code == 200, path
"""


def test_a_service_on_a_current_schema_of_sqlite_needs_no_other_dialect_and_no_alembic(tmp_path):
    assert imported(tmp_path, code=SERVICE) >= {"alembic"}
    again = imported(tmp_path, code=SERVICE)
    assert again & {"alembic", "jsonschema", "mako", "rich", "prettytable"} == set()
    # alembic, which makes the tables, imports all of them
    assert "sqlalchemy.dialects.postgresql" not in again


def test_an_idle_worker_has_no_code_of_searches_writes_and_metrics_in_memory(tmp_path):
    idle = imported(tmp_path, "/", "/healthcheck", "/berth/v1/health", code=ASKED + SHOWN)
    assert idle & {"numpy", "jsonschema_rs", "prometheus_client"} == set()
    rooms = ("placement.candidates.", "placement.operations.", "placement.schemas.")
    ours = {name for name in idle if name.startswith((*rooms, "placement.handlers."))}
    assert ours == {
        "placement.candidates.live",
        "placement.candidates.live.foreign_writers",
        "placement.handlers.root",
        "placement.operations.database_lists",
        "placement.operations.project_usages",
        # how a schema is chosen; its check is made when it is first needed
        "placement.schemas.json_schema",
        "placement.schemas.native_checks",
    }


def test_a_read_imports_no_search(tmp_path):
    read = imported(tmp_path, "/resource_providers", "/usages?project_id=p", code=ASKED + SHOWN)
    assert "placement.handlers.usages" in read
    assert read & {"numpy", "placement.candidates.live.live_snapshot"} == set()


FORKED = f"""{SERVED}
import os
assert "numpy" not in sys.modules
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_workers_that_are_forked_from_a_loaded_service_have_all_code_in_common(tmp_path):
    child = imported(tmp_path, code=f"import sys\n{FORKED}{SHOWN}")
    needed = {"numpy", "placement.search_parts", "placement.extensions.claims.handler"}
    assert child >= needed
