"""`nova-manage placement audit`: allocations whose consumer is gone (compute.md §7.3)."""

import argparse
import contextlib
import dataclasses
import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.cli.access import placement_access
from compute.cli.access.host_driver import host_driver
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration, parser
from compute.cli.commands.audit_report import described, told
from compute.cli.commands.audit_rounds import rounds
from compute.cli.console import say
from compute.cli.journal_options import add_journal_options
from compute.cli.output.progress import Bar
from compute.cli.output.recorded_consumers import RecordedPlaces
from compute.maintenance.audit.audit import Auditor, Orphan
from compute.maintenance.audit.deletion import Deletion
from compute.maintenance.audit.grace import Grace
from compute.maintenance.audit.misfits import MisfitGuest, misfit_guests
from compute.maintenance.audit.suspects import suspects
from compute.maintenance.journal import (
    Journal,
    JournalUnusable,
    NotNoted,
    default_path,
    entries,
    is_back,
    put_back,
)
from compute.records.cell_database import CellDatabase
from compute.records.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import Refusal, why
from compute.service.signals import finished_first

FAILED = 1
FOUND = 3
DELETED = 4
REFUSED = 5

NO_EVIDENCE = (
    "the records in {} know no instance at all, so they can't tell whose allocations these are: "
    "nothing is deleted. Is it this host's state_path?"
)

NO_NODE = (
    "the records in {} know no node of {}, so there is nothing to look at. Is it this host's "
    "state_path? --all looks at the trees of all hosts."
)
IN_DOUBT = (
    "nobody can tell which guests run on {}: {}. So nothing is deleted. If you know that a "
    "provider's consumers are gone: --force with --resource_provider."
)

EXIT_CODES = """\
exit codes:
    0  there is nothing to do; with --undo: everything is back
    1  an error, or a deletion failed: it ends there
    3  something is to be done: allocations are left over, and not (all of them) deleted, or guests
       lack something. What guests hold too much, what --suspects tells and what is left alone
       doesn't count
    4  something was found, and deleted
    5  refused: records and driver prove nothing, or the records know no node of this host
"""

FAILURES = (
    Refusal,
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

    It looks at the trees of this host, and at what its instances hold of providers that share.
    With --delete, what the records of this host prove to be its leftovers is removed, if it is
    still as it was read. A guest that the hypervisor has keeps all, whatever the records say. What
    another host may know – on providers that share, or of nodes that aren't this host's – is only
    deleted with --resource_provider naming the provider. On a terminal it is shown and asked for
    first.
    """
    asked = _parser().parse_args(arguments)
    _check(asked)
    conf = load_configuration(config_arguments)
    grace = Grace(asked.grace) if asked.grace else None

    def audit_once(note: Callable[[Orphan], None]) -> int:
        if grace is not None and asked.every is None:
            code = _look_before(asked, conf, config_arguments, grace)
            if code != OK:
                return code
        return _run_once(asked, conf, config_arguments, note, grace)

    if asked.every is None and asked.textfile is None:
        return audit_once(lambda orphan: None)
    return rounds(audit_once, FAILED, asked.every, asked.textfile)


def _look_before(
    asked: argparse.Namespace,
    conf: cfg.ConfigOpts,
    config_arguments: Sequence[str],
    grace: Grace,
) -> int:
    """Look a first time; if there are orphans, wait until their grace is over."""

    allocations = guests = 0

    def look(site: _Site) -> int:
        nonlocal allocations, guests
        grace.begin_look()
        for orphan in site.auditor(asked.json).orphans(asked.resource_provider, asked.all):
            grace.is_over(orphan)
            allocations += 1
        for guest in site.misfits(asked):
            grace.is_over(guest)
            guests += 1
        return OK

    code = _at_site(asked, conf, config_arguments, False, look)
    if code == OK and grace.end_look():
        many = "1 allocation" if allocations == 1 else f"{allocations} allocations"
        if guests:
            many += f", {guests} guest{'s' if guests > 1 else ''} with too little or too much"
        say(PROGRAM, f"the first look found {many}; the second one is in {asked.grace} seconds")
        time.sleep(asked.grace)
    return code


def _run_once(
    asked: argparse.Namespace,
    conf: cfg.ConfigOpts,
    config_arguments: Sequence[str],
    note: Callable[[Orphan], None],
    grace: Grace | None,
) -> int:
    deletes = asked.delete and not asked.dry_run

    def work(site: _Site) -> int:
        if asked.undo:
            return _undo(site.client, site.adapter, asked.undo, asked.dry_run)
        auditor = site.auditor(asked.json or asked.every is not None)
        if deletes and not auditor.has_evidence():
            say(PROGRAM, NO_EVIDENCE.format(conf.state_path))
            return REFUSED
        if asked.delete and not asked.force and (doubt := auditor.doubt()):
            say(PROGRAM, IN_DOUBT.format(conf.host, doubt))
            return REFUSED
        journal = asked.journal or default_path(Path(conf.state_path))
        if not (auditor.roots or asked.all or asked.resource_provider):
            say(PROGRAM, NO_NODE.format(conf.state_path, conf.host))
            return REFUSED
        lasts = _lasts(grace)
        orphans = filter(lasts, auditor.orphans(asked.resource_provider, asked.all))
        guests = filter(lasts, site.misfits(asked))
        with Journal(journal) as opened:
            deletion = Deletion(site.client, auditor, opened)
            code = _audit(asked, orphans, guests, deletion, note, site)
        if grace is not None:
            grace.end_look()
        return code

    changes = bool(asked.delete or asked.undo) and not asked.dry_run
    return _at_site(asked, conf, config_arguments, changes, work)


def _lasts(grace: Grace | None) -> Callable[[Orphan | MisfitGuest], bool]:
    """Return what says of something found whether it was found for long enough."""
    if grace is None:
        return lambda found: True
    grace.begin_look()
    return grace.is_over


@dataclasses.dataclass(frozen=True)
class _Site:
    """What an audit works with: the records of this host, and placement."""

    conf: cfg.ConfigOpts
    cell: CellDatabase
    adapter: Adapter
    client: SchedulerReportClient

    def auditor(self, hidden: bool) -> Auditor:
        """Return what judges the consumers; it shows its progress on a terminal."""
        return Auditor(
            self.client,
            admin_context(),
            self.cell,
            self.conf.host,
            lambda: host_driver(self.conf, self.cell),
            NodeIdentity.from_config(self.conf).read(),
            lambda total: _bar(total, hidden),
        )

    def misfits(self, asked: argparse.Namespace) -> Iterator[MisfitGuest]:
        """Yield this host's guests that hold less or more than they should.

        None if only one provider is looked at.
        """
        if asked.resource_provider is None:
            yield from misfit_guests(self.client, admin_context(), self.cell, self.conf.host)


@contextlib.contextmanager
def _bar(total: int, hidden: bool) -> Iterator[Callable[[], None]]:
    with Bar("providers", total, hidden) as bar:
        yield bar.advance


def _at_site(
    asked: argparse.Namespace,
    conf: cfg.ConfigOpts,
    config_arguments: Sequence[str],
    changes: bool,
    work: Callable[[_Site], int],
) -> int:
    """Return what `work` returns, or FAILED, of which stderr has the reason."""
    try:
        with (
            records(conf, read_only=not changes) as cell,
            placement_access.opened(
                conf, config_arguments, asked.way, read_only=not changes
            ) as adapter,
        ):
            return work(_Site(conf, cell, adapter, SchedulerReportClient(adapter, conf=conf)))
    except exceptions.ResourceProviderNotFound as error:
        raise UnusableInput(error) from error
    except JournalUnusable as error:
        raise UnusableInput(error) from error
    except FAILURES as error:
        say(PROGRAM, why(error))
        return FAILED


def _parser() -> argparse.ArgumentParser:
    options = parser("audit", audit.__doc__ or "", EXIT_CODES)
    options.add_argument("--delete", action="store_true", help="delete what is found")
    options.add_argument(
        "--yes", action="store_true", help="with --delete: don't ask, on a terminal either"
    )
    options.add_argument(
        "--force",
        action="store_true",
        help="with --delete and --resource_provider: also if the driver can't list its guests",
    )
    options.add_argument(
        "--all",
        action="store_true",
        help="look at the trees of all hosts, and tell what is left alone, too",
    )
    options.add_argument(
        "--resource_provider",
        metavar="UUID",
        help="look at this provider's allocations alone; also delete what others may know of",
    )
    add_journal_options(options, "--delete", "put back what is in a journal, and nothing else")
    options.add_argument(
        "--grace",
        type=_seconds,
        metavar="SECONDS",
        help="look twice, so far apart, and count what both looks find, unchanged; with --every, "
        "what all looks of that time find",
    )
    options.add_argument(
        "--suspects",
        action="store_true",
        help="also tell what placement suspects to be wrong, and what the records know of it; "
        "OpenStack Placement suspects nothing",
    )
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options.add_argument(
        "--every",
        type=_seconds,
        metavar="SECONDS",
        help="audit again and again, until Ctrl-C or SIGTERM; a failure is told and counted",
    )
    options.add_argument(
        "--textfile",
        type=Path,
        metavar="FILE",
        help="write metrics to it after each audit, for node_exporter (a name with .prom, or its "
        "folder)",
    )
    options.add_argument("--verbose", action="store_true", help="tell when nothing is found, too")
    placement_access.add_options(options)
    return options


def _seconds(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return int(text)


def _check(asked: argparse.Namespace) -> None:
    for option in ("every", "textfile"):
        if getattr(asked, option) is not None and (asked.delete or asked.undo):
            raise UnusableInput(f"--{option} only looks: it goes neither with --delete nor --undo.")
    if asked.every is not None and asked.json:
        raise UnusableInput("--json prints one object: it doesn't go with --every.")
    if asked.every is not None and asked.suspects:
        raise UnusableInput("--suspects doesn't go with --every: watch placement_suspects instead.")
    if asked.dry_run and not (asked.delete or asked.undo):
        raise UnusableInput(
            "--dry-run is for --delete and --undo: without them nothing is changed."
        )
    for option in ("journal", "yes"):
        if getattr(asked, option) and not asked.delete:
            raise UnusableInput(f"--{option} is for --delete.")
    if asked.force and not (asked.delete and asked.resource_provider):
        raise UnusableInput("--force needs --delete and --resource_provider.")
    if asked.all and asked.resource_provider:
        raise UnusableInput("--all and --resource_provider can't go together.")
    others = ("delete", "resource_provider", "json", "grace", "suspects", "all")
    if asked.undo and any(getattr(asked, name) for name in others):
        raise UnusableInput("--undo goes with no other option than --dry-run.")
    if asked.resource_provider:
        try:
            uuid.UUID(asked.resource_provider)
        except ValueError:
            raise UnusableInput(
                f"Resource provider with UUID {asked.resource_provider} does not exist."
            ) from None


def _audit(
    asked: argparse.Namespace,
    orphans: Iterator[Orphan],
    guests: Iterator[MisfitGuest],
    deletion: Deletion,
    note: Callable[[Orphan], None],
    site: _Site,
) -> int:
    found = deleted = to_do = 0
    named = asked.resource_provider is not None
    deletes = asked.delete and not asked.dry_run
    if deletes and not asked.yes and sys.stdin.isatty():
        listed = list(orphans)
        orphans, deletes = iter(listed), _confirmed(listed, named)
    with contextlib.ExitStack() as stack:
        journal = deletion.journal.path if deletes else None
        tell = stack.enter_context(told(asked.json, asked.delete, journal, named))
        for orphan in orphans:
            with finished_first():
                now = deletion.delete(orphan, named) if deletes else orphan
                if now is None:
                    continue
                gone = deletes and now.deletable(named)
                found += 1
                deleted += gone
                to_do += now.to_do(named)
                tell(now, gone)
                note(now)
        if not asked.json and (found or asked.verbose):
            print(f"Processed {found} allocation{'' if found == 1 else 's'}.")
        lacking = 0 if named else tell.misfits(guests)
        if asked.suspects:
            tell.suspects(suspects(site.client, admin_context()), RecordedPlaces(site.cell))
    if lacking or deleted < to_do:
        return FOUND
    return DELETED if deleted else OK


def _confirmed(orphans: Sequence[Orphan], named: bool) -> bool:
    """Show what would be deleted on the terminal, and ask; nothing to delete needs no question."""
    deletable = [orphan for orphan in orphans if orphan.deletable(named)]
    if not deletable:
        return False
    for orphan in deletable:
        print(described(orphan, named=named, deleted=False), file=sys.stderr)
    many = "this allocation" if len(deletable) == 1 else f"these {len(deletable)} allocations"
    print(f"Delete {many}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _undo(
    client: SchedulerReportClient, adapter: Adapter, path: Path, dry_run: bool = False
) -> int:
    context, failed = admin_context(), False
    for entry in entries(path):
        what = f"{entry['consumer']} on Resource Provider {entry['provider']}"
        try:
            with finished_first():
                if dry_run:
                    restored = not is_back(client, context, entry)
                    done = "Would restore allocations"
                else:
                    restored = put_back(client, context, entry)
                    done = "Restored allocations"
                done = done if restored else "There are allocations already"
                line = f"{done} for consumer UUID {what}: {json.dumps(entry['resources'])}"
                print(line, flush=True)
        except FAILURES as error:
            if placement_access.why_unusable(adapter):
                raise
            failed = True
            say(PROGRAM, f"allocations for consumer UUID {what}: {why(error)}")
    return FAILED if failed else OK
