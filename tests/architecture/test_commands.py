"""Every block of commands in a page is run by a test, or says here why none runs it."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOC = ROOT / "doc"
#: a block of code; without a language it is a literal block
_BLOCK = re.compile(
    r"(?:\.\. code-block:: (?:bash|console)|(?<!\.\.)::)\n(?: {3}:\w+:.*\n)*\n((?: {4}.*\n|\n)+)"
)
#: what begins a command, after prompts and variables
_COMMAND = re.compile(
    r"^ {4}(?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo )?"
    r"(?:\S*/)?(?:placement-\w+|nova-manage|berth-compute|openstack|curl|call|python3?|pip|tox|pytest"
    r"|gunicorn|systemctl|promtool|podman|buildah|oslo\w*-\w+|make_base)\b(?! =)",
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
    "api.rst": "tests/functional/placement/openapi/test_pages.py",
    "capacity.rst": "tests/functional/placement/test_capacity_page.py",
    "explain.rst": "tests/functional/placement/test_explain_page.py",
    "extensions.rst": "tests/functional/placement/test_extensions_page.py",
    "nova_manage.rst": "tests/functional/compute/maintenance/test_manual.py",
    "openstack_commands.rst": "tests/openstackclient/test_extension_commands.py",
    "tutorial.rst": "tests/functional/placement/test_tutorials.py",
    "without_openstack.rst": "tests/functional/placement/test_tutorials.py",
}
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
    ("deployment.rst", "python3 -m venv /opt/berth"): "tests/installation/test_distributions.py",
    ("deployment.rst", "pip uninstall"): "tests/installation/test_shared_environment.py",
    ("deployment.rst", "placement-manage db sync"): "tests/packages/test_built_packages.py",
    ("deployment.rst", "/opt/berth/bin/placement-manage db sync"): "tests/contrib/test_systemd.py",
    ("deployment.rst", "useradd --system"): "tests/contrib/test_systemd.py",
    ("deployment.rst", "/opt/berth/bin/placement-api"): "tests/functional/placement/serving/"
    "test_placement_api.py",
    ("deployment.rst", "gunicorn"): "tests/functional/placement/serving/test_wsgi_servers.py",
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
    ("monitoring.rst", "nova-manage placement audit --every"): "tests/functional/compute/"
    "maintenance/test_audit_metrics.py",
}


def pages_with_commands() -> list[str]:
    """Return the pages that show a command in a block."""
    found = []
    for page in sorted(DOC.glob("*.rst")):
        blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
        if any(_COMMAND.search(block) for block in blocks):
            found.append(page.name)
    return found


def blocks() -> list[tuple[str, str]]:
    """Return page and text of the blocks that aren't in pages that are run, or not run, whole."""
    return [
        (page, block.strip())
        for page in pages_with_commands()
        if page not in WHOLE and page not in EXCEPTIONS
        for block in _BLOCK.findall((DOC / page).read_text(encoding="utf-8"))
        if _COMMAND.search(block)
    ]


def test_pages_with_commands_are_found() -> None:
    assert {"tutorial.rst", "deployment.rst", "nova_manage.rst"} <= set(pages_with_commands())


@pytest.mark.parametrize(("page", "block"), blocks())
def test_a_block_of_commands_is_run_by_a_test(page: str, block: str) -> None:
    assert [command for at, command in RUN_BY if at == page and block.startswith(command)]


def test_no_entry_is_left_over() -> None:
    assert {*WHOLE, *EXCEPTIONS} <= set(pages_with_commands())
    found = blocks()
    assert not [
        (page, command)
        for page, command in RUN_BY
        if not any(at == page and block.startswith(command) for at, block in found)
    ]


@pytest.mark.parametrize("path", sorted({*WHOLE.values(), *RUN_BY.values()}))
def test_the_tests_are_there(path: str) -> None:
    assert (ROOT / path).is_file()
