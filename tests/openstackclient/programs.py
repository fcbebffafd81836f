"""The program `openstack`, forked from a process that has imported what it needs."""

import os
import shlex
import sys
from pathlib import Path

from tests.functional.forked import Forked


def run(command: str, settings: dict[str, str], folder: Path) -> tuple[int, str, str]:
    """Run a command line that begins with `openstack`; return exit code, output and errors.

    :param settings: environment variables; others that begin with OS_ are not there
    :param folder: the working folder and the home
    """
    program, *arguments = shlex.split(command.replace("\\\n", ""))
    assert program == "openstack", command
    environ = environ_of_none() | {"HOME": str(folder)} | settings
    process = Forked(_shell, [str(folder), *arguments], environ)
    out, err = process.communicate()
    return process.returncode, out, err


def environ_of_none() -> dict[str, str]:
    """Return this process's environment without what would lead to a cloud."""
    return {k: v for k, v in os.environ.items() if not k.startswith("OS_")}


def _shell(arguments: list[str]) -> int | None:
    """Do what the program does, in a folder; the other arguments are those of the program."""
    from tests.openstackclient.imported import PATH, shell

    # a forked process begins with that of the tests
    sys.path = PATH
    folder, *words = arguments
    os.chdir(folder)
    return shell.main(words)
