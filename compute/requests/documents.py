"""Guests as JSON: flavor, image, devices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from compute.records.instance import Flavor
from compute.report.consumers.resource_request import RequestGroup
from compute.requests.ports import GuestPort
from compute.requests.reading.image import GuestImage


class UnreadableGuests(Exception):
    """The JSON isn't as it should be; the text says where."""


@dataclass(frozen=True)
class DescribedGuest:
    """A guest to be translated."""

    flavor: Flavor
    image: GuestImage = field(default_factory=GuestImage)
    ports: tuple[GuestPort, ...] = ()
    booted_from_volume: bool = False


def guests_of(document: object) -> list[DescribedGuest]:
    """Read a list of guests. Keys may be missing; others than ours are ignored."""
    if not isinstance(document, list):
        raise UnreadableGuests("it must be a JSON list")
    return [_guest(one, f"[{number}]") for number, one in enumerate(document)]


def _guest(document: object, where: str) -> DescribedGuest:
    found = _object(document, where)
    return DescribedGuest(
        _flavor(_object(found.get("flavor"), f"{where}.flavor"), f"{where}.flavor"),
        _image(_object(found.get("image"), f"{where}.image"), f"{where}.image"),
        tuple(
            _port(_object(one, f"{where}.devices[{number}]"), f"{where}.devices[{number}]", number)
            for number, one in enumerate(_list(found.get("devices"), f"{where}.devices"))
        ),
        _boolean(found.get("is_bfv"), f"{where}.is_bfv"),
    )


def _flavor(found: Mapping[str, object], where: str) -> Flavor:
    def size(name: str, default: int = 0) -> int:
        return _number(found.get(name, default), f"{where}.{name}")

    specs = _object(found.get("extra_specs"), f"{where}.extra_specs")
    return Flavor(
        size("vcpus", 1),
        size("ram"),
        size("root_gb"),
        size("ephemeral_gb"),
        size("swap"),
        {name: _text(value, f"{where}.extra_specs[{name}]") for name, value in specs.items()},
        _text(found.get("name", ""), f"{where}.name"),
    )


def _image(found: Mapping[str, object], where: str) -> GuestImage:
    disk_format = found.get("disk_format")
    return GuestImage(
        _object(found.get("properties"), f"{where}.properties"),
        None if disk_format is None else _text(disk_format, f"{where}.disk_format"),
    )


def _port(found: Mapping[str, object], where: str, position: int) -> GuestPort:
    """Read a port's `resource_request`, as the network service has it.

    As nova has it, the id of a group is its suffix.
    """
    groups = dict[str, RequestGroup]()
    documents = _list(found.get("request_groups"), f"{where}.request_groups")
    for number, document in enumerate(documents):
        place = f"{where}.request_groups[{number}]"
        group = _object(document, place)
        resources = _object(group.get("resources"), f"{place}.resources")
        traits = _list(group.get("required"), f"{place}.required")
        groups[_text(group.get("id", f"_{position}-{number}"), f"{place}.id")] = RequestGroup(
            {name: _number(value, f"{place}.resources") for name, value in resources.items()},
            frozenset(_text(trait, f"{place}.required") for trait in traits),
        )
    together = _list(found.get("same_subtree"), f"{where}.same_subtree")
    suffixes = frozenset(_text(one, f"{where}.same_subtree") for one in together)
    return GuestPort(
        groups,
        (suffixes,) if suffixes else (),
        _boolean(found.get("remote_managed"), f"{where}.remote_managed"),
    )


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict | None):
        raise UnreadableGuests(f"{where} must be an object")
    return value or {}


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list | None):
        raise UnreadableGuests(f"{where} must be a list")
    return value or []


def _boolean(value: object, where: str) -> bool:
    if not isinstance(value, bool | None):
        raise UnreadableGuests(f"{where} must be true or false")
    return bool(value)


def _number(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableGuests(f"{where} must be a whole number")
    return value


def _text(value: object, where: str) -> str:
    """Read text; numbers are taken as nova's API takes them."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UnreadableGuests(f"{where} must be text")
    return str(value)
