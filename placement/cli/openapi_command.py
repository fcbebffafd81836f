"""`placement-manage openapi`: the description of the API, without a service."""

import argparse
import os
import sys
from typing import Any

from oslo_config import cfg

from placement.cli.failure import FAILED, say

_DESCRIPTION = """\
Print the description of the API as OpenAPI 3.1, as the service has it at /berth/v1/openapi.json.
It is made from what the service judges requests and answers by. No service needs to run.
"""
FORMS = {"json": "application/json", "yaml": "application/yaml"}


def add_command(categories: Any) -> None:
    """Add the command to the command line of `placement-manage`."""
    openapi = categories.add_parser(
        "openapi",
        help="print the description of the API",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    openapi.set_defaults(run=_run, opens_database=False, usage_error=openapi.error)
    openapi.add_argument(
        "--microversion",
        metavar="VERSION",
        help="describe this microversion alone, such as 1.39 or latest; without it, all of them",
    )
    openapi.add_argument("--format", choices=tuple(FORMS), default="json", help="default: json")
    openapi.add_argument(
        "--without-extensions",
        action="store_true",
        help="leave out what OpenStack Placement doesn't have",
    )


def _run(conf: cfg.ConfigOpts) -> int:
    # imported here because other commands don't need them
    from placement.app import api
    from placement.extensions.openapi.texts import Texts
    from placement.microversions import named

    asked = conf.command
    try:
        version = None if asked.microversion is None else named(asked.microversion)
    except ValueError as unknown:
        asked.usage_error(f"argument --microversion: {unknown}")
    texts = Texts(api(extensions=not asked.without_extensions))
    return _write(texts.of(version, FORMS[asked.format]).text)


def _write(text: str) -> int:
    """Write the document to standard output as UTF-8, in every locale; return the exit code."""
    # text and bytes may not change places
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except OSError as error:
        # what is buffered would be written again at the end of the process
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # a reader may leave early
            return 0
        say("placement-manage", f"the description can't be written: {error.strerror}", False)
        return FAILED
    return 0
