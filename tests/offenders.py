"""A rule for many cases is one test, which names every case that breaks the rule."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

#: what ends a test as failed: an exception, or `pytest.raises` that saw none
_FAILURES = (Exception, pytest.fail.Exception)


def assert_none(offenders: Iterable[str]) -> None:
    """Fail if there are offenders, with a line for each; of a long list pytest shows the begin."""
    __tracebackhide__ = True
    found = list(offenders)
    assert not found, "\n".join([f"{len(found)} against the rule:", *found])


def assert_each(cases: Mapping[str, Sequence[Any]], rule: Callable[..., None]) -> None:
    """Call `rule` with the arguments of each case; fail with the name of each where it fails.

    The first failure is the cause of the error, so that its traceback is shown.
    """
    __tracebackhide__ = True
    assert cases, "there is no case: the rule looked at nothing"
    failures: dict[str, BaseException] = {}
    for name, arguments in cases.items():
        try:
            rule(*arguments)
        except _FAILURES as failed:
            failures[name] = failed
    if failures:
        lines = [f"{name}: {_text(failed)}" for name, failed in failures.items()]
        headline = f"{len(lines)} of {len(cases)} against the rule:"
        raise AssertionError("\n".join([headline, *lines])) from next(iter(failures.values()))


def _text(failed: BaseException) -> str:
    """Return what a failure says; an exception that is no assertion, with its name."""
    expected = isinstance(failed, AssertionError | pytest.fail.Exception)
    text = str(failed) if expected else f"{type(failed).__name__}: {failed}"
    return text.replace("\n", "\n    ")
