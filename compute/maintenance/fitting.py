"""Ask placement why something fits nowhere, and how many more fit (extensions.md 5, 6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from requests import Response

from compute.maintenance.flavor_request import flavor_request
from compute.records.cell_database import CellDatabase
from compute.records.instance import Flavor, Instance
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import Sender, Transport

#: as new as the extensions; queries are read as this microversion does
VERSION = "1.39"
PREFIX = "/berth/v1"
#: how many names of flavors a message has
_MOST_NAMED = 10


class UnknownName(Exception):
    """The records have no such flavor or instance; the text says which there are."""


class NotOffered(Exception):
    """Whoever answers has no such URL: OpenStack Placement, or Berth without extensions."""

    def __init__(self) -> None:
        super().__init__(
            "Placement doesn't offer this: it is OpenStack Placement, or Berth with "
            "[berth]extensions = false."
        )


class BadQuestion(Exception):
    """Placement refused the question; the text is its reason."""


@dataclass(frozen=True)
class WantedResources:
    """What is asked for.

    :param query: of GET /allocation_candidates
    :param left_out: a sentence for each thing that the flavor asks of others than placement
    """

    name: str
    query: str
    left_out: tuple[str, ...] = ()


def of_flavor(cell: CellDatabase, name: str) -> WantedResources:
    """Return what a flavor asks for.

    Raises UnknownName if no instance in the records has the flavor.
    """
    return _wanted(name, known_flavor(cell, name))


def known_flavor(cell: CellDatabase, name: str) -> Flavor:
    """Return a flavor as the newest instance that has it recorded it.

    Raises UnknownName if no instance in the records has the flavor.
    """
    known = _flavors(cell)
    if name not in known:
        names = sorted(known)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        listed = ", ".join(names[:_MOST_NAMED]) + more if names else "none"
        raise UnknownName(
            f"No instance in the records has the flavor {name!r}. The records know: {listed}."
        )
    return known[name]


def of_all_flavors(cell: CellDatabase) -> list[WantedResources]:
    """Return what each flavor of the records asks for, by name."""
    return [_wanted(name, flavor) for name, flavor in sorted(_flavors(cell).items())]


def of_instance(cell: CellDatabase, uuid: str) -> WantedResources:
    """Return what an instance asks for when it moves. Raises UnknownName if there is none."""
    instance = cell.instances.by_uuid(uuid)
    if instance is None:
        raise UnknownName(f"The records have no instance {uuid}.")
    return _wanted(uuid, instance.flavor, instance.booted_from_volume)


def _flavors(cell: CellDatabase) -> dict[str, Flavor]:
    def age(instance: Instance) -> tuple[float, int]:
        return instance.created_at, instance.id or 0

    instances = sorted(cell.instances.all(), key=age)
    return {one.flavor.name: one.flavor for one in instances if one.flavor.name}


def _wanted(name: str, flavor: Flavor, booted_from_volume: bool = False) -> WantedResources:
    found = flavor_request(flavor, booted_from_volume)
    return WantedResources(name, found.request.to_querystring(), found.left_out)


class Questions:
    """Asks one placement.

    Each method raises NotOffered if placement has no such URL, BadQuestion if it refuses the
    question, Refusal for other errors, and ClientException if it is unreachable.

    :param adapter: leads to placement
    """

    def __init__(self, adapter: Sender) -> None:
        self._transport = Transport(lambda: adapter)

    def explain(self, query: str, provider: str | None, consumer: str | None) -> dict[str, Any]:
        """Return why a query has the candidates it has."""
        parts = [query]
        for name, value in (("provider", provider), ("consumer", consumer)):
            if value is not None:
                parts.append(f"{name}={quote(value, safe='')}")
        path = f"{PREFIX}/allocation_candidates/explain?{'&'.join(parts)}"
        return self._answer(lambda: self._transport.get(path, version=VERSION))

    def capacity(
        self,
        wanted: Sequence[WantedResources],
        by: Sequence[str],
        without: Sequence[str],
        limit: int,
    ) -> dict[str, Any]:
        """Return how many more of each fit, by name.

        :param by: `aggregate`, `root`
        :param without: uuids of roots
        """
        body = {
            "requests": {one.name: {"query": one.query} for one in wanted},
            "by": list(by),
            "without": list(without),
            "limit": limit,
        }
        path = f"{PREFIX}/capacity"
        return self._answer(lambda: self._transport.post(path, body, version=VERSION))

    def evacuate(self, roots: Sequence[str]) -> dict[str, Any]:
        """Return whether all consumers of some trees would fit elsewhere."""
        path, body = f"{PREFIX}/capacity/evacuate", {"without": list(roots)}
        return self._answer(lambda: self._transport.post(path, body, version=VERSION))

    def _answer(self, send: Callable[[], Response]) -> dict[str, Any]:
        response = send()
        if response.status_code == 200:
            found: dict[str, Any] = response.json()
            return found
        if response.status_code in (404, 405, 501):
            raise NotOffered
        if response.status_code == 400:
            raise BadQuestion(_reason(response))
        raise Refusal(response)


def _reason(response: Response) -> str:
    """Return what placement says, without the sentence that every 400 has."""
    try:
        detail = response.json()["errors"][0]["detail"]
    except (ValueError, LookupError, TypeError):
        return response.text
    _, _, reason = " ".join(str(detail).split()).rpartition("otherwise incorrect. ")
    return reason
