"""What the commands of `nova-manage` share: usage errors, configuration, exit codes."""

import argparse
import inspect
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

from compute.cli.console import LogFileUnusable, say, set_up_logging
from compute.cli.help_text import fitted

if TYPE_CHECKING:
    from oslo_config import cfg

    from compute import config

PROGRAM = "nova-manage"

OK = 0
INVALID = 127
INTERRUPTED = 130
#: the exit code with which a shell reports SIGPIPE
UNREAD = 141
UNCAUGHT = 255


class Command(Protocol):
    """A command takes the arguments after its name and returns the exit code.

    `config_arguments` are those before its category: `--config-file` and the like. The first line
    of the docstring is the command's line in the listing.
    """

    def __call__(self, arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
        """Run it."""

    __doc__: str | None


class UnusableInput(Exception):
    """An option or the configuration can't be used; the text says why. Exit code 127."""


class CommandParser(argparse.ArgumentParser):
    """Ends with 127 on bad usage: the 2 that is argparse's has another meaning here."""

    def error(self, message: str) -> NoReturn:
        """Show the usage and what is wrong with it."""
        self.print_usage(sys.stderr)
        say(self.prog, f"error: {message}")
        self.exit(INVALID)


#: after a command's own
EXIT_CODES = """\
  127  bad usage or configuration
  130  interrupted; what was begun is whole
  141  nobody reads the output any more
  255  a defect of this program
"""


def parser(command: str, description: str, exit_codes: str, of_several: str = "") -> CommandParser:
    """Return the parser of one command. Its help ends with the exit codes.

    :param of_several: says which exit code counts when several apply
    """
    return CommandParser(
        prog=f"{PROGRAM} placement {command}",
        description=fitted(inspect.cleandoc(description)),
        epilog=fitted(exit_codes + EXIT_CODES + of_several),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def load_configuration(
    config_arguments: Sequence[str], overrides: "config.Overrides | None" = None
) -> "cfg.ConfigOpts":
    """Read the configuration and set up logging: to the log file, or with --debug to stderr.

    Without a log file and without --debug nothing is logged: the command prints its own messages.
    Raises UnusableInput if the configuration can't be read.
    """
    # imported here because --help and --version read no configuration
    from oslo_config import cfg

    from compute import config
    from placement.config import misspelt

    try:
        conf = config.load(config_arguments, overrides=overrides)
    except UnicodeDecodeError as error:
        # The exception doesn't name the file.
        raise UnusableInput(f"{' '.join(config_arguments)}: {error}") from error
    except (cfg.Error, ValueError, OSError) as error:
        raise UnusableInput(error) from error
    try:
        set_up_logging(conf, PROGRAM, brief=True)
    except LogFileUnusable as error:
        raise UnusableInput(error) from error
    if not conf.debug:
        _keep_to_files(logging.getLogger())
    for sentence in misspelt.told(conf):
        # not said as an error, which could become the command's answer in JSON
        print(f"{PROGRAM}: {sentence}", file=sys.stderr)
    return conf


def _keep_to_files(logger: logging.Logger) -> None:
    """Remove the handlers that write to the terminal: only the command itself writes there."""
    for handler in list(logger.handlers):
        stream = isinstance(handler, logging.StreamHandler)
        if stream and not isinstance(handler, logging.FileHandler):
            logger.removeHandler(handler)
    # Without any handler Python would write warnings to stderr.
    logger.addHandler(logging.NullHandler())
