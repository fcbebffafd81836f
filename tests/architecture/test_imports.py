"""The arrows of the design: a request reads downward through the folders, no import points up."""

import ast
import pathlib
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[2]
OURS = ("placement", "compute", "virt")

#: what each part of placement/ may import of placement/, beside itself
MAY_IMPORT = {
    "errors": set(),
    "domain": {"errors"},
    "microversions": {"errors"},
    "config": set(),
    "conf": {"config"},
    "storage": {"domain", "errors"},
    "operations": {"domain", "errors", "storage"},
    "candidates": {"domain", "errors", "microversions", "storage"},
    "schemas": {"domain"},
    "policies": {"errors"},
    # the call object hands handlers what they work with
    "http": {
        "candidates",
        "config.logs",
        "errors",
        "microversions",
        "policies",
        "schemas",
        "storage.engine",
        # whether it was the database that failed, and what may be said of it
        "storage.error_log",
    },
    "handlers": {
        "candidates",
        "domain",
        "errors",
        "http",
        "microversions",
        "operations",
        "policies",
        "schemas",
        "storage",
    },
    "routes": {"handlers", "microversions"},
    "app": {"candidates", "config", "http", "policies", "routes", "storage"},
    "wsgi": {"app", "config", "http"},
    "deploy": {"app", "http"},
    "direct": {"app", "config", "http"},
    # between sockets and the application
    "serving": {"errors", "http"},
    "cli": {"app", "config", "errors", "http", "storage", "wsgi"},
}


def modules(package: str) -> Iterator[pathlib.Path]:
    """Every Python file of a package."""
    yield from sorted((ROOT / package).rglob("*.py"))


def imports(path: pathlib.Path) -> set[str]:
    """Return the modules of ours that a file imports, by full name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] in OURS}


def part_of(path: pathlib.Path) -> str:
    """Return the part of placement/ a file belongs to: a folder, or a module of its own."""
    return path.relative_to(ROOT / "placement").with_suffix("").parts[0]


PLACEMENT = [path for path in modules("placement") if part_of(path) != "__init__"]


@pytest.mark.parametrize("path", PLACEMENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_part_of_placement_imports_only_what_lies_below(path: pathlib.Path) -> None:
    part = part_of(path)
    upward = {
        name
        for name in imports(path)
        if not any(
            name.startswith(f"placement.{allowed}.") or name == f"placement.{allowed}"
            for allowed in MAY_IMPORT[part] | {part}
        )
        # `from placement import microversions`
        and name.removeprefix("placement.") not in MAY_IMPORT[part]
    }
    assert upward == set()


@pytest.mark.parametrize("path", list(modules("compute")), ids=lambda p: str(p.relative_to(ROOT)))
def test_compute_imports_nothing_of_placement_but_the_embedded_service(path: pathlib.Path) -> None:
    allowed = {"placement.direct.PlacementDirect"} if "cli" in path.parts else set()
    assert {name for name in imports(path) if name.startswith("placement.")} <= allowed


@pytest.mark.parametrize("path", list(modules("compute")), ids=lambda p: str(p.relative_to(ROOT)))
def test_compute_loads_drivers_by_name(path: pathlib.Path) -> None:
    assert {name for name in imports(path) if name.startswith("virt.")} == set()


@pytest.mark.parametrize("path", list(modules("virt")), ids=lambda p: str(p.relative_to(ROOT)))
def test_virt_imports_of_compute_what_drivers_share_with_it(path: pathlib.Path) -> None:
    others = {name for name in imports(path) if not name.startswith("virt.")}
    allowed = ["compute.provider_tree", "compute.exceptions", "compute.config.yaml_file"]
    if path.relative_to(ROOT).as_posix() in ("virt/driver.py", "virt/virtapi.py"):
        allowed += ["compute.config", "compute.service.driver"]
    assert {name for name in others if not name.startswith(tuple(allowed))} == set()


#: the folders of virt/ that are drivers; all else there is for any of them
DRIVERS = ("fake", "host", "ironic", "libvirt")


@pytest.mark.parametrize("path", list(modules("virt")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_driver_is_known_but_to_itself(path: pathlib.Path) -> None:
    own = path.relative_to(ROOT / "virt").parts[0]
    others = tuple(f"virt.{driver}." for driver in DRIVERS if driver != own)
    assert {name for name in imports(path) if f"{name}.".startswith(others)} == set()


def test_every_folder_with_a_driver_is_known_as_one() -> None:
    with_driver = {
        path.relative_to(ROOT / "virt").parts[0]
        for path in modules("virt")
        if {"virt.driver.ComputeDriver", "virt.node.driver.NodeDriver"} & imports(path)
    }
    assert with_driver - {"node", "testing"} == set(DRIVERS)


@pytest.mark.parametrize("path", list(modules("placement/domain")), ids=lambda path: path.name)
def test_the_domain_knows_no_framework(path: pathlib.Path) -> None:
    tree = ast.parse(path.read_text())
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    plain = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    names |= {alias.name for node in plain for alias in node.names}
    frameworks = {"flask", "sqlalchemy", "webob", "werkzeug"}
    assert {name.split(".")[0] for name in names} & frameworks == set()


FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "lib"}


def test_files_are_named_by_what_they_hold() -> None:
    vague = [
        str(path.relative_to(ROOT))
        for package in OURS
        for path in modules(package)
        if FORBIDDEN_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)
    ]
    assert vague == []
