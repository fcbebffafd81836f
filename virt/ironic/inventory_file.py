"""Bare metal machines listed in a YAML file, which may change at any time::

nodes:
  - uuid: 1be26c0b-03f2-4d2e-ae87-c02d7f33c123
    name: rack1-07
    resource_class: baremetal.gold
    traits: [HW_CPU_X86_VMX, CUSTOM_RAID]
  - uuid: 5b0ba5b8-ff7b-4dfb-8d51-d1bdf7b1a9fe
    resource_class: baremetal.gold
    maintenance: true
    power_state: power off
    provision_state: active
    instance_uuid: c0ffee00-7a3b-4e16-8cd1-5dd2a1ae5d1c
...

The last line, YAML's own mark of an end, says that the list is whole.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import os_traits

from compute import exceptions
from compute.config.yaml_file import parse_yaml, read_text
from virt.inventory import CUSTOM_NAME
from virt.ironic.node import IronicNode, custom_class

LOG = logging.getLogger(__name__)

#: the last line of a list: one that was cut off lacks it
END = "..."
_MISSING = (
    ". [ironic]inventory_file names this file, the list of the machines: write it, or set "
    "[ironic]node_source to openstack to ask the bare metal service."
)


class InventoryFile:
    """Reads the file anew whenever it is asked; parses it only if it changed.

    After the first valid list, a missing or wrong file is only logged, and the last valid list
    stays in use: the machines still exist.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._text: str | None = None
        self._nodes: list[IronicNode] | None = None
        self._complaint: str | None = None

    def nodes(self) -> list[IronicNode]:
        """Return the machines. Raises InvalidConfiguration if there never was a valid list."""
        with self._lock:
            try:
                self._read()
            except ValueError as error:
                complaint = f"{self._path}: {error}"
                if self._nodes is None:
                    if isinstance(error.__cause__, FileNotFoundError):
                        complaint += _MISSING
                    raise exceptions.InvalidConfiguration(complaint) from error
                if complaint != self._complaint:
                    LOG.error("%s. The last good list of nodes stays in force.", complaint)
                self._complaint = complaint
            return list(self._nodes or ())

    def _read(self) -> None:
        """Take over the list, if the file changed. Raises ValueError if the file is wrong."""
        try:
            text = read_text(Path(self._path))
        except OSError as error:
            raise ValueError(error.strerror or str(error)) from error
        if text != self._text:
            self._nodes = parse_nodes(text)
            self._text = text
        if self._complaint is not None:
            LOG.info("%s is good again", self._path)
        self._complaint = None


def parse_nodes(text: str) -> list[IronicNode]:
    """Return the machines a file lists, down to the line `...`.

    Raises ValueError, naming line and column, or number and uuid of the entry, if it is wrong.
    """
    document = parse_yaml(text)
    entries = document.get("nodes") if isinstance(document, Mapping) else None
    if not isinstance(entries, list) or set(document) != {"nodes"}:
        raise ValueError("is not a mapping with the key `nodes`, and only that, to a list")
    nodes: dict[str, tuple[int, IronicNode]] = {}
    for number, entry in enumerate(entries, start=1):
        node = _node(number, entry)
        if node.uuid in nodes:
            raise ValueError(f"nodes {nodes[node.uuid][0]} and {number} both have uuid {node.uuid}")
        nodes[node.uuid] = number, node
    if text.rstrip().rpartition("\n")[2] != END:
        raise ValueError(
            f"doesn't end with the line `{END}`: it may have been cut off, and machines be "
            "missing. Add the line if the list is whole"
        )
    return [node for _number, node in nodes.values()]


def _node(number: int, entry: object) -> IronicNode:
    if not isinstance(entry, Mapping):
        raise ValueError(f"node {number} is not a mapping: {entry!r}")
    named = f"node {number} ({entry['uuid']})" if "uuid" in entry else f"node {number}"
    if "uuid" not in entry:
        raise ValueError(f"{named} has no uuid")
    for key in entry:
        if key not in _READERS:
            raise ValueError(
                f"{named} has the unknown key {key!r}; known are {', '.join(_READERS)}"
            )
    values = {}
    for key, value in entry.items():
        try:
            values[key] = _READERS[key](value)
        except ValueError as error:
            raise ValueError(f"{named}: {key} {error}: {value!r}") from None
    return IronicNode(**values)


def _uuid(value: Any) -> str:
    try:
        return str(uuid.UUID(value))
    except (ValueError, AttributeError, TypeError):
        raise ValueError("is not a uuid") from None


def _string(value: object) -> str:
    if not isinstance(value, str) or not value:
        # `power_state: off` is the boolean false in YAML.
        raise ValueError("is not a string (write it in quotes)")
    return value


def _resource_class(value: object) -> str:
    text = _string(value)
    if not CUSTOM_NAME.fullmatch(custom_class(text)):
        raise ValueError("is too long")
    return text


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false")
    return value


def _traits(value: object) -> frozenset[str]:
    if not isinstance(value, list):
        raise ValueError("is not a list")
    standard = os_traits.get_traits()
    for trait in value:
        if trait not in standard and not CUSTOM_NAME.fullmatch(str(trait)):
            raise ValueError(f"has {trait!r}, which is neither a standard nor a custom trait")
    return frozenset(value)


def _or_nothing(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "uuid": _uuid,
    "name": _or_nothing(_string),
    "resource_class": _or_nothing(_resource_class),
    "traits": _traits,
    "maintenance": _flag,
    "power_state": _or_nothing(_string),
    "provision_state": _or_nothing(_string),
    "instance_uuid": _or_nothing(_uuid),
    "cpu_arch": _or_nothing(_string),
}
