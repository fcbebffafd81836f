"""The options that all programs of the compute side take: configuration, log, version."""

import argparse
import importlib.metadata


def add_common_options(parser: argparse.ArgumentParser, debug: str) -> None:
    """Add `--config-file`, `--config-dir`, `--debug` and `--version`; `debug` is the help text."""
    parser.add_argument(
        "--config-file",
        action="append",
        default=[],
        metavar="PATH",
        help="read this file instead of the usual ones; repeatable, later files count more",
    )
    parser.add_argument(
        "--config-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="read the *.conf files of this directory, in the order of their names; repeatable",
    )
    parser.add_argument("--debug", action="store_true", help=debug)
    version = importlib.metadata.version("openstack-berth")
    parser.add_argument("--version", action="version", version=version)


def config_arguments(arguments: argparse.Namespace) -> list[str]:
    """Return these options as arguments of oslo.config."""
    argv = [f"--config-file={path}" for path in arguments.config_file]
    argv += [f"--config-dir={path}" for path in arguments.config_dir]
    return [*argv, "--debug"] if arguments.debug else argv
