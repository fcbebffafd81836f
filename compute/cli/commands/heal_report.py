"""What `nova-manage placement heal_allocations` says of each instance."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Protocol

from compute.cli.output.amounts import amounts_told
from compute.cli.output.json_stream import JSONStream
from compute.maintenance.heal.doubling import Doubled
from compute.maintenance.heal.heal import Healing, HealStep
from compute.maintenance.heal.placing import ROOT
from compute.records.instance import Instance
from placement.reports.lines import escaped

CHANGED = "changed meanwhile"


class Report(Protocol):
    """Is told of each instance in turn, and of the end."""

    def batch(self, count: int) -> None:
        """Hear how many instances will come."""

    def healed(self, healing: Healing, written: bool) -> None:
        """Hear what was done with an instance, or would be."""

    def changed(self, healing: Healing) -> None:
        """Hear that an instance changed before it could be healed."""

    def failed(self, instance: Instance, error: str) -> None:
        """Hear that an instance can't be healed; stderr has it already."""

    def end(self, processed: int, reached: bool) -> None:
        """Hear how many were written, and whether that is --max-count."""


@contextlib.contextmanager
def reporting(asked: argparse.Namespace) -> Iterator[Report]:
    """Give what tells of instances, in text or as one JSON object."""
    if not asked.json:
        yield _Text(asked)
        return
    with JSONStream(sys.stdout, {"dry_run": asked.dry_run}, "instances") as stream:
        yield _Json(asked, stream)


class _Text:
    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked

    def batch(self, count: int) -> None:
        if self._asked.verbose:
            print(f"Found {count} candidate instances.")

    def healed(self, healing: Healing, written: bool) -> None:
        uuid = healing.instance.uuid
        for one in healing.doubled:
            print(escaped(_told(healing, one, written and self._asked.mend_doubled)))
        if healing.surplus:
            print(
                f"Instance {uuid} holds {amounts_told(healing.surplus)} too much: --force with "
                "--instance replaces all that it holds."
            )
        if not healing.writes:
            if self._asked.verbose:
                print(_unhealed(healing))
            return
        verb = "Create" if healing.step is HealStep.CREATE else "Update"
        if not written:
            content = json.dumps(healing.payload, sort_keys=True)
            print(f"[dry-run] {verb} allocations for instance {uuid}: {content}")
        elif self._asked.verbose:
            print(f"Successfully {verb.lower()}d allocations for instance {uuid}.")
        if not written or self._asked.verbose:
            for line in _where(healing):
                print(escaped(line))

    def changed(self, healing: Healing) -> None:
        print(f"Instance {healing.instance.uuid} {CHANGED}: it is left alone.")

    def failed(self, instance: Instance, error: str) -> None:
        """Say nothing more."""

    def end(self, processed: int, reached: bool) -> None:
        told = "Max count reached. " if reached else ""
        print(f"{told}Processed {processed} instances.")


class _Json:
    def __init__(self, asked: argparse.Namespace, stream: JSONStream) -> None:
        self._asked = asked
        self._stream = stream

    def batch(self, count: int) -> None:
        """Say nothing: the list has the instances."""

    def healed(self, healing: Healing, written: bool) -> None:
        wrong = healing.doubled or healing.lacking or healing.surplus
        if not (healing.writes or wrong or self._asked.verbose):
            return
        result = healing.step.value
        if healing.writes:
            result = f"{result}d" if written else f"would {result}"
        self._stream.add(
            _item(healing.instance, result)
            | {
                "allocations": healing.payload.get("allocations", {}),
                "providers": dict(healing.names),
                "reasons": dict(healing.reasons),
                "lacking": dict(healing.lacking),
                "surplus": dict(healing.surplus),
                "doubled": [
                    _doubled(one, written and self._asked.mend_doubled) for one in healing.doubled
                ],
            }
        )

    def changed(self, healing: Healing) -> None:
        self._stream.add(_item(healing.instance, CHANGED))

    def failed(self, instance: Instance, error: str) -> None:
        self._stream.add(_item(instance, "failed") | {"error": error})

    def end(self, processed: int, reached: bool) -> None:
        self._stream.closing = {"processed": processed, "max_count_reached": reached}


def _item(instance: Instance, result: str) -> dict[str, object]:
    return {
        "instance": instance.uuid,
        "host": instance.host,
        "node": instance.node,
        "result": result,
    }


def _doubled(one: Doubled, mended: bool) -> dict[str, object]:
    return {
        "resource_class": one.resource_class,
        "asked": one.asked,
        "held": dict(one.held),
        "known": dict(one.known),
        "reason": one.reason,
        "mended": mended and one.can_be_mended,
    }


def _where(healing: Healing) -> Iterator[str]:
    """Yield a line for each provider, unless all allocations are on the root."""
    if set(healing.reasons.values()) <= {ROOT}:
        return
    for uuid, part in healing.payload["allocations"].items():
        told = []
        for name, amount in sorted(part["resources"].items()):
            reason = healing.reasons.get(name, ROOT)
            told.append(f"{amount} {name}" + ("" if reason == ROOT else f" ({reason})"))
        amounts = ", ".join(told)
        yield f"  {healing.names.get(uuid, uuid)}: {amounts}"


def _told(healing: Healing, one: Doubled, mended: bool) -> str:
    name = one.resource_class
    text = (
        f"Instance {healing.instance.uuid} holds {sum(one.held.values())} {name}, its flavor asks "
        f"for {one.asked}: {_parts(one.held, healing.names)}. "
    )
    if not one.can_be_mended:
        return f"{text}Which part is right can't be told: {one.reason}."
    text += f"It has {_parts(one.known, healing.names)}: {one.reason}."
    return f"{text} The rest is removed." if mended else text


def _parts(amounts: Mapping[str, int], names: Mapping[str, str]) -> str:
    return ", ".join(f"{amount} on {names[uuid]}" for uuid, amount in amounts.items())


def _unhealed(healing: Healing) -> str:
    uuid = healing.instance.uuid
    if healing.step is HealStep.NOT_ON_A_HOST:
        return f"Instance {uuid} is not on a host."
    if healing.step is HealStep.IN_TRANSITION:
        state = healing.instance.task_state
        return f"Instance {uuid} is undergoing a task state transition: {state}"
    if healing.lacking:
        return f"The allocation of instance {uuid} is all that there is room for."
    if healing.surplus:
        return f"The allocation of instance {uuid} lacks nothing."
    return f"The allocation of instance {uuid} is up-to-date. Nothing to be healed."
