"""`nova-manage placement audit`: allocations whose consumer is gone (compute.md §7.3)."""

import argparse
import contextlib
import json
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli import placement_access
from compute.cli.command_line import OK, PROGRAM, InvalidInput, load_configuration, parser
from compute.cli.console import say, why
from compute.cli.json_stream import JSONStream
from compute.cli.placement_access import PlacementUnusable
from compute.cli.records import records
from compute.context import admin_context
from compute.interruption import finished_first
from compute.manage.audit import Auditor, Orphan
from compute.manage.consumer import read_consumer, without, write_consumer
from compute.manage.journal import Journal, JournalUnusable, NotNoted, entries, put_back
from compute.report import SchedulerReportClient

FAILED = 1
FOUND = 3
DELETED = 4

EXIT_CODES = """\
exit codes:
    0  nothing was found; with --undo: everything is back
    1  an error, or a deletion failed: it ends there
    3  something was found, and not (all of it) deleted
    4  something was found, and deleted
"""

FAILURES = (
    PlacementUnusable,
    NotNoted,
    exceptions.ResourceProviderRetrievalFailed,
    exceptions.ResourceProviderAllocationRetrievalFailed,
    exceptions.ResourceProviderTraitRetrievalFailed,
    exceptions.ConsumerAllocationRetrievalFailed,
    exceptions.AllocationUpdateFailed,
    ClientException,
)


def audit(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Find allocations of instances and migrations that are gone, and delete them if asked to.

    What is found is reported first. With --delete it is removed if it is still as it was read.
    Where the records of this host don't know the node of a provider, they can't tell who is there:
    its consumers are only deleted with --resource_provider naming it.
    """
    asked = _parser().parse_args(arguments)
    _check(asked)
    conf = load_configuration(config_arguments)
    changes = asked.delete or asked.undo
    try:
        with (
            records(conf) as cell,
            placement_access.opened(
                conf, config_arguments, asked.way, read_only=not changes
            ) as adapter,
        ):
            client = SchedulerReportClient(adapter, conf)
            if asked.undo:
                return _undo(client, adapter, asked.undo)
            return _audit(asked, client, Auditor(client, admin_context(), cell))
    except exceptions.ResourceProviderNotFound as error:
        raise InvalidInput(error) from error
    except JournalUnusable as error:
        raise InvalidInput(error) from error
    except FAILURES as error:
        say(PROGRAM, why(error))
        return FAILED


def _parser() -> argparse.ArgumentParser:
    options = parser("audit", audit.__doc__ or "", EXIT_CODES)
    options.add_argument("--delete", action="store_true", help="delete what is found")
    options.add_argument(
        "--resource_provider", metavar="UUID", help="look at this provider's allocations alone"
    )
    options.add_argument(
        "--journal", type=Path, metavar="FILE", help="with --delete: append what is deleted to it"
    )
    options.add_argument(
        "--undo", type=Path, metavar="FILE", help="put back what is in a journal, and nothing else"
    )
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options.add_argument("--verbose", action="store_true", help="tell when nothing is found, too")
    placement_access.add_options(options)
    return options


def _check(asked: argparse.Namespace) -> None:
    if asked.journal and not asked.delete:
        raise InvalidInput("--journal is for --delete.")
    if asked.undo and (asked.delete or asked.resource_provider or asked.json):
        raise InvalidInput("--undo goes with no other option.")
    if asked.resource_provider:
        try:
            uuid.UUID(asked.resource_provider)
        except ValueError:
            raise InvalidInput(
                f"Resource provider with UUID {asked.resource_provider} does not exist."
            ) from None


def _audit(asked: argparse.Namespace, client: SchedulerReportClient, auditor: Auditor) -> int:
    found = deleted = 0
    with contextlib.ExitStack() as stack:
        journal = stack.enter_context(Journal(asked.journal)) if asked.journal else None
        tell = stack.enter_context(_told(asked))
        for orphan in auditor.orphans(asked.resource_provider):
            may_delete = orphan.node_known or asked.resource_provider is not None
            with finished_first():
                gone = asked.delete and may_delete
                if gone and not _delete(client, auditor, orphan, journal):
                    continue
                found += 1
                deleted += gone
                tell(orphan, gone)
        code = OK if not found else DELETED if deleted == found else FOUND
    if not asked.json and (found or asked.verbose):
        print(f"Processed {found} allocation{'' if found == 1 else 's'}.")
    return code


def _delete(
    client: SchedulerReportClient, auditor: Auditor, orphan: Orphan, journal: Journal | None
) -> bool:
    """Remove it if it is still there and still an orphan; whether it was removed."""
    context = admin_context()
    body = read_consumer(client, context, orphan.consumer)
    # The records are asked after placement: whoever came meanwhile changed the generation.
    if orphan.provider not in body["allocations"] or not auditor.still_orphan(orphan):
        return False
    if journal is not None:
        journal.note(orphan.consumer, orphan.provider, body)
    write_consumer(client, context, orphan.consumer, body, without(body, orphan.provider))
    return True


@contextlib.contextmanager
def _told(asked: argparse.Namespace) -> Iterator[Callable[[Orphan, bool], None]]:
    """Gives a function that tells of an orphan, and whether it is deleted."""
    if not asked.json:
        yield _tell
        return
    with JSONStream(sys.stdout, {"delete": asked.delete}, "allocations") as stream:
        yield lambda orphan, deleted: stream.add(_as_json(orphan, deleted))


def _tell(orphan: Orphan, deleted: bool) -> None:
    what = f"llocations for consumer UUID {orphan.consumer} on Resource Provider {orphan.provider}"
    resources = json.dumps(orphan.resources, sort_keys=True)
    print(f"Deleted a{what}: {resources}" if deleted else f"A{what} can be deleted: {resources}")
    age = "unknown" if orphan.age is None else _duration(orphan.age)
    print(
        f"  provider {orphan.provider_name}, kind {orphan.kind}, "
        f"host {orphan.host or 'unknown'}, last change {age}: {orphan.reason}",
        flush=True,
    )


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds)} seconds ago"


def _as_json(orphan: Orphan, deleted: bool) -> dict[str, Any]:
    return {
        "consumer": orphan.consumer,
        "resource_provider": orphan.provider,
        "resource_provider_name": orphan.provider_name,
        "resources": dict(orphan.resources),
        "kind": orphan.kind,
        "host": orphan.host,
        "age": orphan.age,
        "reason": orphan.reason,
        "node_known": orphan.node_known,
        "deleted": deleted,
    }


def _undo(client: SchedulerReportClient, adapter: Adapter, path: Path) -> int:
    context, failed = admin_context(), False
    for entry in entries(path):
        what = f"{entry['consumer']} on Resource Provider {entry['provider']}"
        try:
            with finished_first():
                restored = put_back(client, context, entry)
                done = "Restored allocations" if restored else "There are allocations already"
                print(f"{done} for consumer UUID {what}: {json.dumps(entry['resources'])}")
        except FAILURES as error:
            if placement_access.why_unusable(adapter):
                raise
            failed = True
            say(PROGRAM, f"allocations for consumer UUID {what}: {why(error)}")
    return FAILED if failed else OK
