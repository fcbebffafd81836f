"""`placement-api` in this process, for starts that must fail."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from placement.cli import serve
from placement.serving import gunicorn_master
from tests.functional.placement.serving.conftest import configuration


class Serves(AssertionError):
    """The command would serve now."""


def _serves(*arguments: object, **options: object) -> None:
    raise Serves


def refusing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[str]]:
    """Return a function that runs the command in the folder, and returns the lines that it said.

    The command must end with code 1 and print nothing on standard output. `variables` are added to
    those of `configuration`; None removes one. The caller restores logging.
    """
    monkeypatch.setattr(gunicorn_master, "GunicornServer", _serves)
    monkeypatch.chdir(folder)

    def refused(*arguments: str, **variables: str | None) -> list[str]:
        wanted = configuration(folder) | variables
        for name in [name for name in os.environ if name.startswith("OS_")]:
            monkeypatch.delenv(name)
        for name, value in wanted.items():
            if value is not None and (name == "HOME" or name.startswith("OS_")):
                monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            serve.main(arguments)
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (1, ""), said.err
        return said.err.splitlines()

    return refused
