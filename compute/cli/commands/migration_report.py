"""The output of a migration: lines of text for people, or one JSON object for programs."""

import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any, Protocol, Self

from compute.cli.output import drawn_file
from compute.cli.output.json_stream import JSONStream
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.cli.output.tree_drawing import as_json, draw, marks_between, show
from compute.maintenance.migrate.migration import NamedProvider, NodeReport, Result
from compute.maintenance.migrate.moves import AmountMove
from compute.report.wire.failures import why


class Output(Protocol):
    """Takes the report of each node, and then the summary."""

    def node(self, report: NodeReport) -> None:
        """Report one node."""

    def summary(self, counts: Mapping[str, int], exit_code: int) -> None:
        """Report the number of nodes by result."""


class Text:
    """A line for each node; of a rehearsal also the trees, the moves and the verdict."""

    def __init__(
        self, opening: Mapping[str, object], total: int, verbose: bool, known: RecordedConsumers
    ) -> None:
        self._opening = opening
        self._total = total
        self._verbose = verbose
        self._known = known
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Do nothing: text needs no end."""

    def node(self, report: NodeReport) -> None:
        """See Output."""
        self._number += 1
        about = [
            f"[{self._number}/{self._total}] {report.node}: {report.result}",
            *_counted(report),
        ]
        print(", ".join(about), flush=True)
        if self._verbose:
            for word, providers in (("create", report.created), ("remove", report.removed)):
                did = f"would {word}" if _is_future(report) else f"{word}d"
                for provider in providers:
                    print(f"  {did} {provider.name} ({provider.uuid})")
        if report.before or report.after:
            self._trees(report)
        if report.moves and (self._verbose or self._opening["dry_run"]):
            print("  moves:")
            for consumer, moves in report.moves.items():
                what = self._known.described(consumer)
                print(f"    {consumer} ({what})" if what else f"    {consumer}")
                for move in moves:
                    print(f"      {described(move, report.names)}")
        if _is_future(report):
            self._plan(report)

    def summary(self, counts: Mapping[str, int], exit_code: int) -> None:
        """See Output."""
        told = ", ".join(f"{number} × {result}" for result, number in counts.items())
        what = "Dry run, nothing was written. " if self._opening["dry_run"] else ""
        print(f"{what}Nodes of {self._opening['host']}: {told}.")

    def _trees(self, report: NodeReport) -> None:
        goes, comes = marks_between(report.before, report.after)
        for title, providers, marks in (
            ("before", report.before, goes),
            ("after", report.after, comes),
        ):
            print(f"  {title}:")
            show(draw(providers, traits=self._verbose, marks=marks), indent=4)

    def _plan(self, report: NodeReport) -> None:
        if report.payload is not None and not report.misfits:
            print("  verdict: everything fits")
        for misfit in report.misfits:
            print(f"  verdict: it doesn't fit: {misfit}")
        if self._verbose:
            print("  steps:")
            for step in report.steps:
                print(f"    {step}")
        if self._verbose and report.payload is not None:
            print("  POST /reshaper:")
            for line in json.dumps(report.payload, indent=2).splitlines():
                print(f"    {line}")


class Json(contextlib.ExitStack):
    """`{"host", "dry_run", "nodes": [...], "summary", "exit_code"}`."""

    def __init__(
        self, opening: Mapping[str, object], total: int, verbose: bool, known: RecordedConsumers
    ) -> None:
        super().__init__()
        self._stream = JSONStream(sys.stdout, opening, "nodes")

    def __enter__(self) -> Self:
        self.enter_context(self._stream)
        return self

    def node(self, report: NodeReport) -> None:
        """See Output."""
        self._stream.add(node_as_json(report) | {"steps": report.steps, "reshaper": report.payload})

    def summary(self, counts: Mapping[str, int], exit_code: int) -> None:
        """See Output."""
        self._stream.closing = {"summary": dict(counts), "exit_code": exit_code}


class Drawn:
    """An output, and beside it a file that draws all nodes."""

    def __init__(
        self, output: Output, path: str, opening: Mapping[str, object], known: RecordedConsumers
    ) -> None:
        self._output = output
        self._path = path
        self._host = opening["host"]
        self._known = known
        self._nodes: list[dict[str, Any]] = []

    def node(self, report: NodeReport) -> None:
        """See Output."""
        self._output.node(report)
        self._nodes.append(node_as_json(report))

    def summary(self, counts: Mapping[str, int], exit_code: int) -> None:
        """See Output."""
        self._output.summary(counts, exit_code)
        consumers = {consumer for node in self._nodes for consumer in node["moves"]}
        data = {
            "nodes": self._nodes,
            "consumers": {
                consumer: self._known.described(consumer) for consumer in sorted(consumers)
            },
        }
        title = f"Reshape of {self._host}"
        drawn_file.write(self._path, title, "migrate_compute_inventory --dry-run", data)


def node_as_json(report: NodeReport) -> dict[str, object]:
    """Return what people look at of a node: its trees, what moves, and what doesn't fit."""
    return {
        "node": report.node,
        "uuid": report.uuid,
        "result": report.result,
        "created": [_named(provider) for provider in report.created],
        "removed": [_named(provider) for provider in report.removed],
        "moves": {
            consumer: [_move(move) for move in moves] for consumer, moves in report.moves.items()
        },
        "before": [as_json(provider) for provider in report.before],
        "after": [as_json(provider) for provider in report.after],
        "misfits": report.misfits,
        "error": None if report.error is None else why(report.error),
    }


def described(move: AmountMove, names: Mapping[str, str]) -> str:
    """`2 VCPU: compute1 → compute1_numa0`."""
    source = names.get(move.source or "", move.source)
    target = names.get(move.target or "", move.target)
    what = f"{move.amount} {move.resource_class}"
    if target is None:
        return f"{what}: lost, was on {source}"
    if source is None:
        return f"{what}: new on {target}"
    if move.renamed_to is None:
        return f"{what}: {source} → {target}"
    where = f"on {source}" if source == target else f"{source} → {target}"
    return f"{what} becomes {move.renamed_to}: {where}"


def _is_future(report: NodeReport) -> bool:
    return report.result in (Result.WOULD_MIGRATE, Result.WOULD_SYNCHRONIZE)


def _counted(report: NodeReport) -> list[str]:
    future = _is_future(report)
    found = []
    for word, count in (("created", len(report.created)), ("removed", len(report.removed))):
        if count:
            noun = "provider" if count == 1 else "providers"
            found.append(f"{count} {noun} {'would be ' if future else ''}{word}")
    if report.moves:
        count = len(report.moves)
        noun = "consumer" if count == 1 else "consumers"
        found.append(f"allocations of {count} {noun} {'would be ' if future else ''}moved")
    return found


def _named(provider: NamedProvider) -> dict[str, str]:
    return {"uuid": provider.uuid, "name": provider.name}


def _move(move: AmountMove) -> dict[str, object]:
    return {
        "resource_class": move.resource_class,
        "amount": move.amount,
        "from": move.source,
        "to": move.target,
        "renamed_to": move.renamed_to,
    }
