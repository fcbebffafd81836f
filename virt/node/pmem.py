"""Persistent memory, of which each guest gets whole namespaces (compute.md §6.5)."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from compute import exceptions
from compute.provider_tree import Resource
from virt.inventory import Inventory, record
from virt.node.host_files import parsed, parsed_if_there

OPTION = "[libvirt]pmem_namespaces"

_LABEL = re.compile(r"[A-Z0-9_]{1,200}")
_CLASS = "CUSTOM_PMEM_NAMESPACE_"


def parse_labels(texts: Sequence[str]) -> dict[str, list[str]]:
    """Read the values of the option, each `LABEL:namespace|namespace`.

    Returns label → namespaces. Raises InvalidConfiguration, naming the value, if it has another
    form, or if a label or a namespace comes twice.
    """
    labels: dict[str, list[str]] = {}
    seen: set[str] = set()
    for text in texts:
        label, separator, names = text.partition(":")
        namespaces = [name.strip() for name in names.split("|")]
        label = label.strip().upper()
        if not separator or not _LABEL.fullmatch(label) or not all(namespaces):
            raise exceptions.InvalidConfiguration(
                f"{OPTION} {text!r} is not like LABEL:namespace|namespace."
            )
        twice = [name for name in namespaces if name in seen or namespaces.count(name) > 1]
        if label in labels or twice:
            raise exceptions.InvalidConfiguration(
                f"{OPTION} {text!r}: {twice[0] if twice else label} is there twice."
            )
        labels[label] = namespaces
        seen.update(namespaces)
    return labels


def read_namespaces(sysfs_root: str | os.PathLike[str]) -> dict[str, int]:
    """Return name → size in bytes of the host's namespaces that have a name.

    Raises HostFactsError if a file is unreadable.
    """
    found = {}
    for directory in sorted(Path(sysfs_root, "bus", "nd", "devices").glob("namespace*")):
        # Namespaces that the kernel's command line makes have no label, and no such file.
        name = parsed_if_there(directory / "alt_name", str.strip)
        if name and (size := parsed(directory / "size", int)):
            found[name] = size
    return found


def resources(
    labels: Mapping[str, Sequence[str]], namespaces: Mapping[str, int], provider_uuid: str
) -> dict[str, set[Resource]]:
    """Return class → the namespaces that guests can be given of it.

    Raises InvalidConfiguration if the host lacks a namespace, or if a label has namespaces of
    different sizes: guests would get any of these sizes.
    """
    found: dict[str, set[Resource]] = {}
    for label, names in labels.items():
        absent = [name for name in names if name not in namespaces]
        if absent:
            raise exceptions.InvalidConfiguration(
                f"{OPTION}: this host has no namespace {', '.join(absent)} ({label})."
            )
        if len({namespaces[name] for name in names}) > 1:
            raise exceptions.InvalidConfiguration(
                f"{OPTION}: the namespaces of {label} have different sizes."
            )
        found[_CLASS + label] = {Resource(provider_uuid, _CLASS + label, name) for name in names}
    return found


def inventory(found: Mapping[str, set[Resource]]) -> Inventory:
    """Return the root's inventory of them."""
    return {name: record(len(namespaces)) for name, namespaces in found.items()}
