"""`nova-manage placement audit`: allocations whose consumer is gone (compute.md §7.3)."""

import argparse
import contextlib
import dataclasses
import json
import sys
import time
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
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration
from compute.cli.commands.audit_options import parsed
from compute.cli.commands.audit_report import described, told
from compute.cli.commands.audit_rounds import Note, rounds
from compute.cli.console import say
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
#: with --delete: another host's records don't know who lives here
NO_NODE_TO_DELETE = (
    "the records in {} know no node of {}, so they can't tell whose allocations these are: nothing "
    "is deleted. Is it this host's state_path? If you know that a provider's consumers are gone: "
    "--force with --resource_provider."
)
IN_DOUBT = (
    "nobody can tell which guests run on {}: {}. So nothing is deleted. If you know that a "
    "provider's consumers are gone: --force with --resource_provider."
)

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
    asked = parsed(arguments, audit.__doc__ or "")
    conf = load_configuration(config_arguments)
    grace = Grace(asked.grace) if asked.grace else None

    def audit_once(note: Note) -> int:
        if grace is not None and asked.every is None:
            code = _look_before(asked, conf, config_arguments, grace)
            if code != OK:
                return code
        return _run_once(asked, conf, config_arguments, note, grace)

    if asked.every is None and asked.textfile is None:
        return audit_once(lambda found: None)
    return rounds(audit_once, FAILED, asked.every, asked.textfile, asked.resource_provider is None)


def _look_before(
    asked: argparse.Namespace,
    conf: cfg.ConfigOpts,
    config_arguments: Sequence[str],
    grace: Grace,
) -> int:
    """Look a first time; if anything is found, wait until its grace is over."""
    allocations = guests = 0

    def look(site: _Site) -> int:
        nonlocal allocations, guests
        auditor = site.auditor(asked.json)
        if refusal := _refusal(asked, conf, auditor):
            say(PROGRAM, refusal)
            return REFUSED
        grace.begin_look()
        for orphan in auditor.orphans(asked.resource_provider, asked.all):
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
    note: Note,
    grace: Grace | None,
) -> int:
    def work(site: _Site) -> int:
        if asked.undo:
            return _undo(site.client, site.adapter, asked.undo, asked.dry_run)
        auditor = site.auditor(asked.json or asked.every is not None)
        if refusal := _refusal(asked, conf, auditor):
            say(PROGRAM, refusal)
            return REFUSED
        journal = asked.journal or default_path(Path(conf.state_path))
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


def _refusal(asked: argparse.Namespace, conf: cfg.ConfigOpts, auditor: Auditor) -> str | None:
    """Return why the records of this host say too little for what is asked; None: they don't."""
    if asked.delete and not asked.dry_run and not auditor.has_evidence():
        return NO_EVIDENCE.format(conf.state_path)
    if asked.delete and not asked.force and (doubt := auditor.doubt()):
        return IN_DOUBT.format(conf.host, doubt)
    if not auditor.roots and asked.delete and asked.resource_provider and not asked.force:
        return NO_NODE_TO_DELETE.format(conf.state_path, conf.host)
    if not (auditor.roots or asked.all or asked.resource_provider):
        return NO_NODE.format(conf.state_path, conf.host)
    return None


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


def _audit(
    asked: argparse.Namespace,
    orphans: Iterator[Orphan],
    guests: Iterator[MisfitGuest],
    deletion: Deletion,
    note: Note,
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
        lacking = 0 if named else tell.misfits(_noted(guests, note))
        if asked.suspects:
            tell.suspects(suspects(site.client, admin_context()), RecordedPlaces(site.cell))
    if lacking or deleted < to_do:
        return FOUND
    return DELETED if deleted else OK


def _noted(guests: Iterator[MisfitGuest], note: Note) -> Iterator[MisfitGuest]:
    for guest in guests:
        note(guest)
        yield guest


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
