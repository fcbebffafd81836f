"""What nova's developers call by keyword or by position, they can call here.

The table nova_surface.yaml has nova's names and parameters; collect_nova_surface.py made it.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from compute import exceptions
from tests.offenders import assert_each

MODULES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("nova_surface.yaml").read_text(encoding="utf-8")
)["modules"]

_EXCEPTIONS: dict[str, Any] = MODULES["nova.exception"]["exceptions"]


def owners() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each module and class of ours, and what the table has of it."""
    for module in MODULES.values():
        yield module["ours"], module
        for held in module.get("classes", {}).values():
            yield held["ours"], held


def found(path: str) -> Any:
    """Return the module or the class of that dotted path."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def signature_of(parameters: str) -> inspect.Signature:
    """Return the signature that the table shows."""
    scope: dict[str, Callable[..., None]] = {}
    # The table is a file of this repository.
    exec(f"def function{parameters}: pass", scope)
    return inspect.signature(scope["function"])


def bound(shown: inspect.Signature) -> inspect.Signature:
    """Return the signature as an instance has it."""
    return shown.replace(parameters=[p for p in shown.parameters.values() if p.name != "self"])


def calls(theirs: inspect.Signature) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield the ways to call it: with and without what has a default, by position and by keyword.

    Each argument is the name of its parameter.
    """
    for chosen in (
        [p for p in theirs.parameters.values() if p.default is p.empty],
        list(theirs.parameters.values()),
    ):
        placed = [p.name for p in chosen if p.kind is p.POSITIONAL_OR_KEYWORD]
        named = {p.name: p.name for p in chosen if p.kind is p.KEYWORD_ONLY}
        more = tuple(p.name for p in chosen if p.kind is p.VAR_POSITIONAL for _ in range(2))
        for count in range(len(placed) + 1):
            rest = {name: name for name in placed[count:]}
            if not (more and rest):
                yield (*placed[:count], *more), {**rest, **named}


def meant(shown: inspect.Signature, args: tuple[str, ...], kwargs: dict[str, str]) -> Any:
    """Return parameter -> argument, as the call is understood; None is a wrong call."""
    try:
        understood = shown.bind(*args, **kwargs)
    except TypeError:
        return None
    flat = dict(understood.arguments)
    for each in shown.parameters.values():
        if each.kind is each.VAR_KEYWORD:
            flat |= flat.pop(each.name, {})
    return flat


def means_the_same(ours: str, name: str, parameters: str) -> None:
    theirs = bound(signature_of(parameters))
    taken = bound(inspect.signature(getattr(found(ours), name)))

    for args, kwargs in calls(theirs):
        # Python calls these itself, by position; and so does whoever decorates.
        if kwargs and (name in ("__enter__", "__exit__") or parameters == "(f)"):
            continue
        call = f"{name}({', '.join([*args, *(f'{key}=…' for key in kwargs)])}) here: {name}{taken}"
        understood = meant(taken, args, kwargs)
        assert understood is not None, call
        if "f" not in args and name != "__exit__":
            assert understood == meant(theirs, args, kwargs), call

    for each in theirs.parameters.values():
        if each.default is not each.empty and each.name in taken.parameters:
            assert taken.parameters[each.name].default == each.default, each.name


def test_each_call_that_nova_takes_means_the_same_here():
    calls_of_nova = {
        f"{ours}.{name}": (ours, name, parameters)
        for ours, held in owners()
        for part in ("functions", "methods")
        for name, parameters in held.get(part, {}).items()
    }
    assert_each(calls_of_nova, means_the_same)


def is_there(ours: str, name: str) -> None:
    """Look for an attribute that a class shows before an instance is made."""
    cls = found(ours)
    assert hasattr(cls, name) or name in annotated(cls) or name in assigned(cls)


def test_each_attribute_is_there():
    attributes = {
        f"{ours}.{name}": (ours, name)
        for ours, held in owners()
        for name in held.get("attributes", ())
    }
    assert_each(attributes, is_there)


def annotated(cls: type) -> set[str]:
    """Return the attributes that the class and its ancestors declare."""
    return {name for each in cls.__mro__ for name in vars(each).get("__annotations__", {})}


@functools.cache
def assigned(cls: type) -> set[str]:
    """Return the names that the constructors of the class and its ancestors use."""
    constructors = [vars(each).get("__init__") for each in cls.__mro__]
    return {
        name for each in constructors if inspect.isfunction(each) for name in each.__code__.co_names
    }


def is_caught_as_novas(name: str, ancestors: list[str], code: int, fields: list[str]) -> None:
    ours = getattr(exceptions, name)
    raised = ours(**{field: index for index, field in enumerate(fields)})

    assert {each.__name__ for each in ours.__mro__}.issuperset(ancestors)
    assert raised.code == code
    assert str(raised) != ours.msg_fmt or not fields
    assert all(str(index) in str(raised) for index in range(len(fields)))


def test_each_exception_is_caught_as_novas_is():
    assert_each({name: (name, *known) for name, known in _EXCEPTIONS.items()}, is_caught_as_novas)


def test_whatever_is_left_out_has_a_reason_and_is_not_there():
    left_out = {
        f"{owner}.{name}": (owner, name, reason)
        for owner, held in owners()
        for name, reason in held.get("left_out", {}).items()
    }

    def has_a_reason_and_is_not_there(owner: str, name: str, reason: str) -> None:
        assert len(reason.split()) > 2
        if name != "__init__":
            assert not hasattr(found(owner), name)

    assert_each(left_out, has_a_reason_and_is_not_there)
