"""Every block of commands in a page is run by a test, or is listed here with the reason why not."""

import pathlib
import re
import textwrap

from tests.architecture.files import ROOT, text_of
from tests.offenders import assert_none

DOC = ROOT / "doc"
PAGES = [ROOT / "README.rst", *sorted(DOC.glob("*.rst")), *sorted((DOC / "man").glob("*.rst"))]
#: a block of code, also in a list; without a language it is a literal block
_BLOCK = re.compile(
    r"^(?P<margin> *)(?:\.\. code-block:: *(?P<language>\w*)|(?! *\.\. )(?=\S).*::)\n"
    r"(?:(?P=margin) {3}:\w+:.*\n)*\n(?P<text>(?P<indent>(?P=margin) {3,})\S.*\n"
    r"(?:(?P=indent).*\n|\n)*)",
    re.M,
)
SHELLS = ("bash", "console", "sh")
#: what begins a command in a literal block, after prompts and variables
_COMMAND = re.compile(
    r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo )?"
    r"(?:\S*/)?(?:placement-\w+|nova-manage|berth-compute|openstack|curl|call|python3?|pip|tox|pytest"
    r"|gunicorn|uwsgi|systemctl|promtool|podman|buildah|oslo\w*(?:-\w+)+|make_base|alembic|towncrier"
    r"|apt-get|useradd|export|echo|touch|rm|mkdir|psql|mysql|git|socat)\b(?![-\w]| ?=| ▶)",
    re.M,
)
#: pages whose commands no test runs as the page has them
EXCEPTIONS = {
    "contributing.rst": "they start the tests themselves, and the environments that CI runs",
    "performance.rst": "the measurements take minutes each",
    "promises.rst": "it starts the tests that the page names",
}


#: pages whose test runs every block, in the order of the page
WHOLE = {
    "api.rst": "tests/functional/placement/extensions/openapi/test_pages.py",
    "capacity.rst": "tests/functional/placement/extensions/capacity/test_capacity_page.py",
    "drain.rst": "tests/functional/placement/test_drain_page.py",
    "explain.rst": "tests/functional/placement/extensions/explain/test_explain_page.py",
    "extensions.rst": "tests/functional/placement/test_extensions_page.py",
    "heal.rst": "tests/functional/compute/maintenance/test_heal_page.py",
    "keystone.rst": "tests/keystone/test_walk_through.py",
    "nova_manage.rst": "tests/functional/compute/maintenance/test_manual.py",
    "plans.rst": "tests/functional/placement/test_plans_page.py",
    "suspects.rst": "tests/functional/compute/maintenance/test_suspects_page.py",
    "openstack_commands.rst": "tests/openstackclient/test_extension_commands.py",
    "tutorial.rst": "tests/functional/placement/test_tutorials.py",
    "without_openstack.rst": "tests/functional/placement/test_tutorials.py",
}
_SWAP = "tests/adoption/test_upgrade_page.py"
#: page and command → the test that runs it, if only parts of the page are run
RUN_BY = {
    ("agent.rst", "ExecStart=/opt/berth/bin/berth-compute"): "tests/contrib/test_systemd.py",
    ("compare.rst", "export OS_TOKEN="): "tests/functional/placement/cli/compare/test_page.py",
    (
        "compare.rst",
        "placement-manage compare",
    ): "tests/functional/placement/cli/compare/test_page.py",
    ("container.rst", "python3 -m pip wheel"): "tests/contrib/container/image.py",
    ("container.rst", "contrib/container/make_base"): "tests/contrib/container/image.py",
    ("databases.rst", "placement-manage db"): "tests/adoption/test_taking_over.py",
    ("databases.rst", "placement-manage: The"): "tests/adoption/test_refusing.py",
    ("deployment.rst", "python3 -m venv /opt/berth"): "tests/installation/test_distributions.py",
    ("deployment.rst", "pip uninstall"): "tests/installation/test_shared_environment.py",
    ("deployment.rst", "placement-manage db sync"): "tests/packages/test_built_packages.py",
    ("deployment.rst", "/opt/berth/bin/placement-manage db sync"): "tests/contrib/test_systemd.py",
    ("deployment.rst", "useradd --system"): "tests/contrib/test_systemd.py",
    ("deployment.rst", "/opt/berth/bin/placement-api"): "tests/functional/placement/serving/"
    "test_placement_api.py",
    (
        "deployment.rst",
        "/opt/berth/bin/oslo-config-validator",
    ): "tests/functional/placement/cli/test_validator.py",
    ("deployment.rst", "gunicorn"): "tests/functional/placement/serving/test_wsgi_servers.py",
    ("deployment.rst", "apt-get install --no-install-recommends"): "tests/packages/conftest.py",
    ("deployment.rst", "/opt/berth/bin/uwsgi --ini"): "tests/contrib/test_uwsgi.py",
    ("deployment.rst", 'echo "set server'): "tests/contrib/test_haproxy.py",
    ("driver_libvirt.rst", "apt-get install libvirt-dev"): "tests/install_libvirt.py",
    (
        "page.rst",
        "nova-manage placement migrate_compute_inventory --dry-run --json",
    ): "tests/functional/compute/maintenance/test_drawn_files.py",
    (
        "page.rst",
        "nova-manage placement tree --node compute1 --html",
    ): "tests/functional/compute/maintenance/test_drawn_files.py",
    ("page.rst", "python3 -m tox -e demo -- --stay"): "tests/functional/compute/test_demo.py",
    (
        "berth-compute.rst",
        "berth-compute --once",
    ): "tests/functional/compute/agent/test_agent_process.py",
    ("placement-manage.rst", "placement-manage db sync"): _SWAP,
    ("placement-manage.rst", "OS_TOKEN="): "tests/functional/placement/cli/compare/test_page.py",
    ("README.rst", "PIP_BREAK_SYSTEM_PACKAGES=1"): "tests/architecture/test_readme.py",
    ("README.rst", "python3 -m venv .venv"): "tests/functional/test_first_requests.py",
    ("README.rst", "url="): "tests/functional/test_first_requests.py",
    ("README.rst", "export OS_AUTH_TYPE="): "tests/openstackclient/test_first_requests.py",
    ("README.rst", "pip install '.[keystone]'"): "tests/installation/test_distributions.py",
    ("README.rst", "export OS_PLACEMENT_"): "tests/functional/test_first_requests.py",
    ("upgrade.rst", "/opt/berth/bin/placement-manage compare"): _SWAP,
    ("upgrade.rst", "/opt/berth/bin/placement-manage db sync\nOS_PLACEMENT"): _SWAP,
    ("upgrade.rst", "/opt/berth/bin/placement-manage db sync"): "tests/versions/test_page.py",
    ("upgrade.rst", "/opt/berth/bin/placement-status"): "tests/versions/test_page.py",
    ("monitoring.rst", "nova-manage placement audit --every"): "tests/functional/compute/"
    "maintenance/test_audit_metrics.py",
}


def commands_in(page: pathlib.Path) -> list[str]:
    """Return the blocks of a page that show commands."""
    return [
        textwrap.dedent(block["text"]).strip()
        for block in _BLOCK.finditer(text_of(page))
        if block["language"] in SHELLS or (not block["language"] and _COMMAND.search(block["text"]))
    ]


def pages_with_commands() -> list[str]:
    """Return the pages that show a command in a block."""
    return [page.name for page in PAGES if commands_in(page)]


def blocks() -> list[tuple[str, str]]:
    """Return page and text of the blocks that aren't in pages that are run, or not run, whole."""
    return [
        (page.name, block)
        for page in PAGES
        if page.name not in WHOLE and page.name not in EXCEPTIONS
        for block in commands_in(page)
    ]


def test_pages_with_commands_are_found() -> None:
    found = set(pages_with_commands())
    assert {"README.rst", "tutorial.rst", "deployment.rst", "nova_manage.rst"} <= found


def test_commands_are_found_in_lists_and_in_every_shell(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text(
        """
Run it::

    $ OS_TOKEN=admin openstack resource provider list
    a table

.. code-block:: sh
   :name: in a shell

    frobnicate --all

1. Prepare::

       /opt/berth/bin/placement-manage db sync

       and more of it

   This is text again. A figure and a file are no commands::

       berth-compute ▶ driver
       python = 3.11

   .. code-block:: json

       {"curl": 1}
"""
    )
    assert commands_in(page) == [
        "$ OS_TOKEN=admin openstack resource provider list\na table",
        "frobnicate --all",
        "/opt/berth/bin/placement-manage db sync\n\nand more of it",
    ]


def test_a_block_of_commands_is_run_by_a_test() -> None:
    assert_none(
        f"{page}: {block}"
        for page, block in blocks()
        if not any(at == page and block.startswith(command) for at, command in RUN_BY)
    )


def test_no_entry_is_left_over() -> None:
    assert_none(sorted({*WHOLE, *EXCEPTIONS} - set(pages_with_commands())))
    found = blocks()
    assert_none(
        f"{page}: {command}"
        for page, command in RUN_BY
        if not any(at == page and block.startswith(command) for at, block in found)
    )


def test_the_tests_are_there() -> None:
    paths = sorted({*WHOLE.values(), *RUN_BY.values()})
    assert_none(path for path in paths if not (ROOT / path).is_file())
