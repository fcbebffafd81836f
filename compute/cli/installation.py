"""Whether a command may run in the environment that it is installed in."""

import os


class UnusableEnvironment(Exception):
    """The command must not run in this environment; the message says why, and what to do."""


def check_installation(program: str, other: str | None = None) -> None:
    """Raise UnusableEnvironment if Python's package `placement` isn't Berth's alone.

    :param program: name of the script that runs
    :param other: distribution that has a script of the same name; the script must be ours alone
    """
    try:
        from placement import installation
    except ImportError as error:
        raise UnusableEnvironment(
            "the package placement that this Python imports isn't Berth's. OpenStack Placement is "
            "installed, too, and stands before Berth. Install Berth in an environment of its own."
        ) from error
    try:
        installation.refuse_shared_environment()
        if other is not None:
            installation.refuse_replaced_script(program, other)
    except installation.SharedEnvironment as error:
        raise UnusableEnvironment(str(error)) from error


def keep_metrics_apart() -> None:
    """Forget the folder in which the processes of a service share what they count.

    prometheus-client reads the variable when it is imported. Our programs are one process each.
    """
    os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
