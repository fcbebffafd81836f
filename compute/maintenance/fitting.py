"""Ask placement why something fits nowhere, and how many more fit (extensions.md 5, 6)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from requests import Response

from compute.records.cell_database import CellDatabase
from compute.records.instance import Flavor, Instance
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import Sender, Transport
from compute.requests.reading.refusal import Refused
from compute.requests.settings import Settings
from compute.requests.translation import request_of

#: as new as the extensions; queries are read as this microversion does
VERSION = "1.39"
#: the first one that has traits
_VERSION_OF_TRAITS = "1.6"
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
    :param fallback: the query for hosts that don't report PCPU, if nova asks it as well
    :param refused: why nova refuses such a guest, unless its image says more; nothing is asked then
    """

    name: str
    query: str
    left_out: tuple[str, ...] = ()
    fallback: str | None = None
    refused: str = ""


def of_flavor(cell: CellDatabase, name: str, settings: Settings) -> WantedResources:
    """Return what a flavor asks for.

    Raises UnknownName if no instance in the records has the flavor.
    """
    return wanted_resources(name, known_flavor(cell, name), settings)


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


def of_all_flavors(cell: CellDatabase, settings: Settings) -> list[WantedResources]:
    """Return what each flavor of the records asks for, by name."""
    flavors = sorted(_flavors(cell).items())
    return [wanted_resources(name, flavor, settings) for name, flavor in flavors]


def of_instance(cell: CellDatabase, uuid: str, settings: Settings) -> WantedResources:
    """Return what an instance asks for when it moves. Raises UnknownName if there is none."""
    instance = cell.instances.by_uuid(uuid)
    if instance is None:
        raise UnknownName(f"The records have no instance {uuid}.")
    return wanted_resources(uuid, instance.flavor, settings, instance.booted_from_volume)


def _flavors(cell: CellDatabase) -> dict[str, Flavor]:
    def age(instance: Instance) -> tuple[float, int]:
        return instance.created_at, instance.id or 0

    instances = sorted(cell.instances.all(), key=age)
    return {one.flavor.name: one.flavor for one in instances if one.flavor.name}


def wanted_resources(
    name: str, flavor: Flavor, settings: Settings, booted_from_volume: bool = False
) -> WantedResources:
    """Return what a flavor asks for with an image that isn't known."""
    try:
        found = request_of(flavor, None, (), settings, booted_from_volume)
    except Refused as refused:
        return WantedResources(name, "", refused=str(refused))
    fallback = found.fallback.to_querystring() if found.fallback else None
    return WantedResources(name, found.request.to_querystring(), found.left_out, fallback)


class Questions:
    """Asks one placement.

    Each method raises NotOffered if placement has no such URL, BadQuestion if it refuses the
    question, Refusal for other errors, and ClientException if it is unreachable.

    :param adapter: leads to placement
    """

    def __init__(self, adapter: Sender) -> None:
        self._transport = Transport(lambda: adapter)

    def explain(self, query: str, provider: str | None, consumer: str | None) -> dict[str, object]:
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
    ) -> dict[str, object]:
        """Return how many more of each fit, by name; a fallback has a name of its own.

        :param by: `aggregate`, `root`
        :param without: uuids of roots
        """
        body = {
            "requests": dict(_named_queries(wanted)),
            "by": list(by),
            "without": list(without),
            "limit": limit,
        }
        path = f"{PREFIX}/capacity"
        return self._answer(lambda: self._transport.post(path, body, version=VERSION))

    def evacuate(self, roots: Sequence[str], requests: Mapping[str, str]) -> dict[str, Any]:
        """Return whether all consumers of some trees would fit elsewhere.

        :param requests: the queries of some of them, by uuid; the others ask for what they hold
        """
        path = f"{PREFIX}/capacity/evacuate"
        body: dict[str, Any] = {"without": list(roots)}
        if requests:
            body["requests"] = dict(requests)
        return self._answer(lambda: self._transport.post(path, body, version=VERSION))

    def make_room(self, body: Mapping[str, object]) -> dict[str, Any]:
        """Return which moves make room."""
        path = f"{PREFIX}/plans/room"
        return self._answer(lambda: self._transport.post(path, body, version=VERSION))

    def survives(self, body: Mapping[str, object]) -> dict[str, Any]:
        """Return which losses of hosts can be absorbed."""
        path = f"{PREFIX}/plans/survives"
        return self._answer(lambda: self._transport.post(path, body, version=VERSION))

    def check_offered(self) -> None:
        """Raise NotOffered if placement has no extensions, before anything is read for one."""
        self._answer(lambda: self._transport.get(PREFIX, version=VERSION))

    def names(self) -> frozenset[str]:
        """Return the names of all traits and resource classes; each release of placement can."""
        version = _VERSION_OF_TRAITS
        traits = self._answer(lambda: self._transport.get("/traits", version=version))
        path = "/resource_classes"
        classes = self._answer(lambda: self._transport.get(path, version=version))
        rows = classes["resource_classes"]
        return frozenset([*traits["traits"], *(row["name"] for row in rows)])

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


def _named_queries(wanted: Sequence[WantedResources]) -> Iterator[tuple[str, dict[str, str]]]:
    for one in wanted:
        if not one.refused:
            yield one.name, {"query": one.query}
        if one.fallback:
            yield f"{one.name} (fallback)", {"query": one.fallback}


def _reason(response: Response) -> str:
    """Return what placement says, without the sentence that every 400 has."""
    try:
        detail = response.json()["errors"][0]["detail"]
    except (ValueError, LookupError, TypeError):
        return response.text
    _, _, reason = " ".join(str(detail).split()).rpartition("otherwise incorrect. ")
    return reason
