"""Writes what an installed nova shows of itself into `nova_surface.yaml`.

Run it with an interpreter that has nova and PyYAML; this project needn't be installed there::

    <that interpreter> tests/unit/compute/collect_nova_surface.py

It reads names and signatures alone (`dir`, `inspect.signature`), never a source. What is written
by hand in the file stays: `ours`, `left_out`, `others` and the choice of classes. A public name of
nova's that is neither held nor left out is added to what is held, where the test then asks for it.
"""

import ast
import importlib
import importlib.metadata
import inspect
import re
import types
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

FILE = Path(__file__).with_name("nova_surface.yaml")
HEADER = """\
# What nova's developers call, as `inspect.signature` and `dir` show it of an installed nova, and
# what of ours it corresponds to. collect_nova_surface.py writes it; by hand are `ours`, `left_out`
# and `others` (why the names that are neither held nor left out one by one aren't ours).
#
# methods, functions: name -> parameters. attributes: of the class or of its instances.
# exceptions: name -> [ancestors among the exceptions we have, code, fields of msg_fmt]
"""
_SEQUENCE = "tag:yaml.org,2002:seq"
#: how an instance is made, to see the attributes that a constructor sets
INSTANCES: dict[str, dict[str, Any]] = {
    "SchedulerReportClient": {"adapter": mock.Mock()},
    "ProviderTree": {},
    "ResourceTracker": {"host": "host", "driver": mock.Mock(), "reportclient": mock.Mock()},
    "ComputeDriver": {"virtapi": None},
    "NopClaim": {},
}


class _Dumper(yaml.SafeDumper):
    """Writes lists in one line."""


_Dumper.add_representer(
    list, lambda dumper, items: dumper.represent_sequence(_SEQUENCE, items, flow_style=True)
)


def main() -> None:
    """Fill the file in."""
    table = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    table["nova"] = importlib.metadata.version("nova")
    for name, part in table["modules"].items():
        module = importlib.import_module(name)
        _fill_module(module, part)
        for class_name, held in part.get("classes", {}).items():
            _fill_class(getattr(module, class_name), held)
        if "exceptions" in part:
            part["exceptions"] = _exceptions(module, part["exceptions"])
    text = yaml.dump(table, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)
    FILE.write_text(HEADER + text, encoding="utf-8")


def _fill_module(module: types.ModuleType, part: dict[str, Any]) -> None:
    known = part.get("functions", {}).keys() | part.get("classes", {}).keys()
    known |= part.get("left_out", {}).keys() | part.get("constants", {}).keys()
    functions: dict[str, str] = {}
    constants: dict[str, Any] = {}
    for name in sorted(vars(module)):
        value = getattr(module, name)
        if name in part.get("left_out", {}) or name in part.get("classes", {}):
            continue
        if name not in known and ("others" in part or name.startswith("_")):
            continue
        if getattr(value, "__module__", None) == module.__name__ and callable(value):
            functions[name] = signature(value)
        elif isinstance(value, str | int) and not name.startswith("_"):
            constants[name] = value
    for key, found in (("functions", functions), ("constants", constants)):
        if found:
            part[key] = found


def _fill_class(cls: type, held: dict[str, Any]) -> None:
    methods: dict[str, str] = {}
    attributes: list[str] = []
    names = set(dir(cls)) | {"__init__"}
    if cls.__name__ in INSTANCES:
        names |= set(dir(cls(**INSTANCES[cls.__name__])))
    known = {*held.get("methods", ()), *held.get("attributes", ()), "__init__"}
    for name in sorted(names - set(held.get("left_out", ()))):
        if name not in known and ("others" in held or name.startswith("_")):
            continue
        value = getattr(cls, name, None)
        if callable(value):
            methods[name] = signature(value)
        else:
            attributes.append(name)
    held.pop("attributes", None)
    held["methods"] = methods
    if attributes:
        held["attributes"] = attributes


def _exceptions(module: types.ModuleType, names: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name in names:
        cls = getattr(module, name)
        bases = [base.__name__ for base in cls.__mro__[1:] if base.__name__ in names]
        fields = dict.fromkeys(re.findall(r"%\((\w+)\)", str(cls.msg_fmt)))
        found[name] = [bases, cls.code, list(fields)]
    return found


def signature(function: Any) -> str:
    """Return the parameters with their defaults and without annotations, as they are written."""
    shown = inspect.signature(function)
    bare = [each.replace(annotation=each.empty) for each in shown.parameters.values()]
    text = str(shown.replace(parameters=bare, return_annotation=shown.empty))
    ast.parse(f"def function{text}: pass")
    return text


if __name__ == "__main__":
    main()
