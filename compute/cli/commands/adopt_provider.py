"""`nova-manage placement adopt_provider`: a host that came back under another uuid or name."""

import argparse
import json
import uuid
from collections.abc import Sequence
from typing import Any

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli.access import placement_access
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration, parser
from compute.cli.console import say
from compute.maintenance.adopt.adoption import Adoption, AdoptionStep
from compute.maintenance.adopt.adoption_reads import AdoptionRefused, Identity
from compute.provider_tree.names import LONGEST
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import described_user, explained, why
from compute.resource_tracker.reporting.patience import Patience
from compute.service.signals import finished_first
from placement.reports.lines import escaped

FAILED = 1
UNKNOWN = 2
DISTURBED = 3
REFUSED = 4

EXIT_CODES = """\
exit codes:
    0  done, or it was done before; with --dry-run: it can be done
    1  an error; what was done stays, and another run goes on from there
    2  there is no provider of this name
    3  somebody else changes the provider all the time: is the agent of the earlier host alive?
    4  refused: the uuid or the name belongs to another provider, or one is no root
"""
_STOP = "Stop the agent that reports the earlier provider, and run this again: it goes on."


def adopt_provider(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Give all that the provider of a name has to a root with another uuid.

    For a host that was built anew, or renamed, and whose agent finds its name taken. Inventory and
    allocations of the root are moved at once; children keep their uuids and what is held of them.
    Stop the agents first. If it is interrupted, run it again.
    """
    asked = _parser().parse_args(arguments)
    identity = _identity(asked)
    conf = load_configuration(config_arguments)
    shown: list[dict[str, Any]] = []

    def tell(step: AdoptionStep) -> None:
        dry = "[dry-run] " if asked.dry_run else ""
        if not asked.json:
            print(escaped(f"{dry}{step.text}."), flush=True)
        shown.append({"step": step.kind, "provider": step.provider, "text": step.text})

    code, failed = FAILED, None
    try:
        with placement_access.opened(
            conf, config_arguments, asked.way, read_only=asked.dry_run
        ) as adapter:
            adoption = Adoption(
                SchedulerReportClient(adapter, conf=conf), admin_context(), identity
            )
            if asked.dry_run:
                for step in adoption.steps():
                    tell(step)
            else:
                with finished_first():
                    Patience.configured(conf).until_undisturbed(
                        lambda: adoption.run(tell), identity.name
                    )
            code = OK
            if not (shown or asked.json):
                print(f"{identity.wanted} is provider {identity.uuid} already: nothing to do.")
    except exceptions.ResourceProviderNotFound as error:
        code, failed = UNKNOWN, str(error)
    except AdoptionRefused as error:
        code, failed = REFUSED, str(error)
    except exceptions.PlacementAPIConflict as error:
        code, failed = DISTURBED, f"{why(error).rstrip('.')}. {_STOP}"
    except (
        PlacementUnusable,
        exceptions.NovaException,
        ClientException,
    ) as error:
        failed = explained(error, described_user(conf))
    if failed is not None:
        say(PROGRAM, failed)
    if asked.json:
        opening = {"name": identity.name, "uuid": identity.uuid, "as": identity.wanted}
        closing = {"error": failed} if failed else {}
        told = {**opening, "dry_run": asked.dry_run, "steps": shown, **closing}
        print(json.dumps(told, indent=2))
    return code


def _parser() -> argparse.ArgumentParser:
    options = parser("adopt_provider", adopt_provider.__doc__ or "", EXIT_CODES)
    add = options.add_argument
    add("--name", required=True, metavar="NAME", help="the name of the earlier provider")
    add("--uuid", required=True, metavar="UUID", help="the uuid that the host has now")
    add(
        "--as",
        dest="wanted",
        metavar="NAME",
        help="the name that the host has now, if another: the full name for the short one, say",
    )
    add("--dry-run", action="store_true", help="say what would be done, and change nothing")
    add("--json", action="store_true", help="one JSON object on stdout")
    placement_access.add_options(options)
    return options


def _identity(asked: argparse.Namespace) -> Identity:
    try:
        wanted_uuid = str(uuid.UUID(asked.uuid))
    except ValueError:
        raise UnusableInput(f"--uuid takes a uuid, not {asked.uuid!r}.") from None
    wanted = asked.name if asked.wanted is None else asked.wanted
    for name in (asked.name, wanted):
        if not 0 < len(name) <= LONGEST:
            raise UnusableInput(f"A name has 1 to {LONGEST} characters, not {len(name)}.")
    return Identity(asked.name, wanted_uuid, wanted)
