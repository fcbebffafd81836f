"""`nova-manage placement drain`: which moves end what is over capacity, and empty a host."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli.access import placement_access
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.access.request_settings import request_settings
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration, parser
from compute.cli.console import say
from compute.cli.output.progress import Bar
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.maintenance.drain.candidate_places import CandidateSource
from compute.maintenance.drain.draining import DrainedHost, DrainPlan, Holder, PlannedMove, planned
from compute.maintenance.fitting import Questions
from compute.maintenance.moving.guest_queries import GuestQueries
from compute.maintenance.provider_details import all_providers, find_roots
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import Refusal, why
from placement.reports.lines import escaped, wrapped

FAILED = 1
UNKNOWN = 2
NOT_ALL = 3

EXIT_CODES = """\
exit codes:
    0  each consumer has a move; with --over-capacity: the moves end it, or nothing is over capacity
    1  placement can't be reached or read
    2  there is no such provider
    3  not each consumer has a move; with --over-capacity: something stays over capacity
"""
#: so many other hosts that a move could have are named, in JSON
_OTHERS = 10


def drain(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Plan the moves that end what is over capacity on a host, and then empty it.

    Each consumer is asked for elsewhere: a guest of the records with what its flavor asks for, as
    nova's scheduler will ask, others with what they hold. A move goes where there is room
    after all moves before it, never to a host that is over capacity itself. Nothing is moved.
    """
    options = parser("drain", drain.__doc__ or "", EXIT_CODES)
    options.add_argument(
        "--host", metavar="NAME|UUID", required=True, help="a provider of the host"
    )
    options.add_argument("--plan", action="store_true", help="print the plan; needed, for now")
    options.add_argument(
        "--over-capacity",
        action="store_true",
        help="plan the moves that end what is over capacity, and no others",
    )
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    placement_access.add_options(options)
    asked = options.parse_args(arguments)
    if not asked.plan:
        raise UnusableInput(
            "This command moves nothing itself: say --plan, and it plans the moves."
        )
    conf = load_configuration(config_arguments)
    context = admin_context()
    try:
        with (
            records(conf) as cell,
            placement_access.opened(conf, config_arguments, asked.way, read_only=True) as adapter,
        ):
            client = SchedulerReportClient(adapter, conf=conf)
            (root,) = find_roots(client, context, asked.host)
            questions = Questions(adapter)
            host = DrainedHost(
                client,
                context,
                root,
                cell,
                GuestQueries(request_settings(conf), questions.names()),
                lambda uuids: _watched(uuids, asked.json),
            )
            cloud = CandidateSource(client, context, conf.scheduler.max_placement_results)
            plan = planned(host, cloud, questions, asked.over_capacity)
            names = _names(client, plan, _OTHERS if asked.json else 0)
            shown = _ShownPlan(host, plan, names, RecordedConsumers(cell), asked)
            shown.tell()
            return OK if shown.fits else NOT_ALL
    except exceptions.ResourceProviderNotFound as error:
        say(PROGRAM, error)
        return UNKNOWN
    except (
        Refusal,
        PlacementUnusable,
        exceptions.ResourceProviderRetrievalFailed,
        exceptions.ResourceProviderAllocationRetrievalFailed,
        exceptions.ConsumerAllocationRetrievalFailed,
        ClientException,
    ) as error:
        say(PROGRAM, why(error))
        return FAILED


def _watched(uuids: Sequence[str], hidden: bool) -> Iterator[str]:
    with Bar("consumers", len(uuids), hidden=hidden) as bar:
        for uuid in uuids:
            yield uuid
            bar.advance()


def _names(client: SchedulerReportClient, plan: DrainPlan, others: int) -> dict[str, str]:
    """Return root → name of the hosts in the plan; a host that is gone is named by its uuid.

    :param others: how many other hosts are named for each move
    """
    context = admin_context()
    roots = dict.fromkeys(
        root for move in plan.moves for root in (move.place.root, *move.others[:others])
    )
    return {
        root: next((row["name"] for row in all_providers(client, context, f"?uuid={root}")), root)
        for root in roots
    }


class _ShownPlan:
    """A plan for people, or for other programs."""

    def __init__(
        self,
        host: DrainedHost,
        plan: DrainPlan,
        names: Mapping[str, str],
        recorded: RecordedConsumers,
        asked: argparse.Namespace,
    ) -> None:
        self._host = host
        self._plan = plan
        self._names = names
        self._recorded = recorded
        self._asked = asked
        self._providers = {one.uuid: one.name for one in host.providers}
        mended = plan.mended_after is not None
        self.fits = mended if asked.over_capacity else not (plan.unfit or plan.staying)

    def tell(self) -> None:
        """Print it."""
        print(json.dumps(self._as_json(), indent=2) if self._asked.json else self._as_text())

    def _as_text(self) -> str:
        return "\n".join(escaped(line) for line in self._lines())

    def _lines(self) -> Iterator[str]:
        plan, root = self._plan, self._host.root
        if self._host.is_drained:
            yield f"{root.name} ({root.uuid}) is drained: all of it is reserved."
        elif plan.over:
            yield f"{root.name} ({root.uuid}) is over capacity:"
            for one in plan.over:
                more = one.used - one.capacity
                yield (
                    f"  {one.name}: {one.used} {one.resource_class} used of {one.capacity}, "
                    f"{more} too many"
                )
        else:
            yield f"Nothing of {root.name} ({root.uuid}) is over capacity."
        if plan.moves:
            yield "Moves that can be made in this order:"
        for number, move in enumerate(plan.moves, 1):
            yield from self._move(number, move)
        if plan.over and plan.mended_after is None:
            yield "No moves that are possible now end what is over capacity."
        if plan.unfit:
            yield "These find no place:"
        for holder, reason in plan.unfit:
            yield f"  {self._told(holder)}"
            yield from wrapped(reason, 4, 2)
        if plan.staying:
            yield "Migrations in progress: confirm or revert them, and what they hold is free."
        for holder in plan.staying:
            yield f"  {self._told(holder)}"
        if not self._host.holders:
            yield "Nobody holds anything there."

    def _move(self, number: int, move: PlannedMove) -> Iterator[str]:
        yield f"  {number}. {self._told(move.holder)}"
        root, more = move.place.root, len(move.others)
        others = f"; {more} other host{'' if more == 1 else 's'} would do" if more else ""
        yield f"     to {self._names[root]} ({root}){others}"
        if number == self._plan.mended_after:
            yield "  After this move nothing is over capacity."

    def _told(self, holder: Holder) -> str:
        told = self._recorded.described(holder.uuid)
        who = f"{holder.uuid} ({told})" if told else holder.uuid
        return f"{who}: {self._amounts(holder)}"

    def _amounts(self, holder: Holder) -> str:
        root = self._host.root.uuid
        return ", ".join(
            f"{amount} {name}{'' if uuid == root else f' of {self._providers.get(uuid, uuid)}'}"
            for uuid, amounts in [*holder.own.items(), *holder.shared.items()]
            for name, amount in sorted(amounts.items())
        )

    def _as_json(self) -> dict[str, object]:
        plan, root = self._plan, self._host.root
        return {
            "host": {"uuid": root.uuid, "name": root.name},
            "drained": self._host.is_drained,
            "fits": self.fits,
            "mended_after": plan.mended_after,
            "over_capacity": [
                {
                    "provider": {"uuid": one.provider, "name": one.name},
                    "resource_class": one.resource_class,
                    "capacity": one.capacity,
                    "used": one.used,
                }
                for one in plan.over
            ],
            "moves": [
                {
                    **self._holder(move.holder),
                    "to": self._named([move.place.root])[0],
                    "allocations": _resources(move.place.allocations.items()),
                    "others": self._named(move.others[:_OTHERS]),
                    "over_capacity_after": move.over,
                }
                for move in plan.moves
            ],
            "unfit": [{**self._holder(holder), "reason": why} for holder, why in plan.unfit],
            "staying": [self._holder(holder) for holder in plan.staying],
        }

    def _named(self, roots: Iterable[str]) -> list[dict[str, str]]:
        return [{"uuid": root, "name": self._names[root]} for root in roots]

    def _holder(self, holder: Holder) -> dict[str, object]:
        return {
            "consumer": holder.uuid,
            "consumer_type": holder.consumer_type,
            "recorded": self._recorded.described(holder.uuid),
            "holds": _resources([*holder.own.items(), *holder.shared.items()]),
        }


def _resources(parts: Iterable[tuple[str, Mapping[str, int]]]) -> dict[str, object]:
    return {uuid: {"resources": dict(amounts)} for uuid, amounts in parts}
