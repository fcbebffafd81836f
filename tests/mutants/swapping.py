"""Mutants of functions that are imported already: the function gets the mutant's code.

So a run of tests needn't import the product and the tests anew, which takes longer than most tests.
"""

import gc
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

#: file, name and first line of a code
Key = tuple[str, str, int]


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno


class Calls:
    """The code below a folder that runs within the context; that of modules and classes, too.

    What a function did while modules were imported, another code can't change afterwards.
    """

    def __init__(self, tree: Path) -> None:
        self._below = f"{tree}/"
        self.made: set[Key] = set()

    def __enter__(self) -> "Calls":
        sys.setprofile(self._note)
        return self

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(self._below):
            self.made.add(_key(frame.f_code))

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        sys.setprofile(None)


class Functions:
    """The functions that are there, by their code.

    :param called: code that has run already
    """

    def __init__(self, tree: Path, called: set[Key]) -> None:
        self._tree, self._called = tree, called
        self._known: dict[Key, list[FunctionType]] = defaultdict(list)
        # a frozen object isn't listed
        gc.unfreeze()
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                self._known[_key(each.__code__)].append(each)
        gc.freeze()

    def become(self, path: str, before: str, after: str) -> bool:
        """Give the functions of a file the code of another content.

        Return False, and change nothing, if that isn't all of the difference.
        """
        name = str(self._tree / path)
        codes = (compile(text, name, "exec", dont_inherit=True) for text in (before, after))
        pairs = list(_different(*codes))
        if any(pair is None or _key(pair[0]) in self._called for pair in pairs):
            return False
        swaps = [(each, pair[1]) for pair in pairs if pair for each in self._known[_key(pair[0])]]
        if any(each.__code__.co_freevars != code.co_freevars for each, code in swaps):
            return False
        for function, code in swaps:
            function.__code__ = code
        return bool(swaps)


def _different(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType] | None]:
    """Yield the functions of two modules, or classes, that differ; None: something else does."""
    if _alone(before) != _alone(after):
        yield None
        return
    for old, new in zip(_inner(before), _inner(after), strict=True):
        if _without_lines(old) == _without_lines(new):
            continue
        if old.co_flags & inspect.CO_OPTIMIZED:  # not that of a class
            yield old, new
        else:
            yield from _different(old, new)


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _alone(code: CodeType) -> CodeType:
    """Return a code without where its lines are, and without the codes within it."""
    outer = tuple(None if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_consts=outer, co_firstlineno=1, co_linetable=b"")


def _without_lines(code: CodeType) -> CodeType:
    inner = tuple(
        _without_lines(each) if isinstance(each, CodeType) else each for each in code.co_consts
    )
    return code.replace(co_consts=inner, co_firstlineno=1, co_linetable=b"")
