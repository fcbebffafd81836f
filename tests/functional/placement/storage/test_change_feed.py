"""Every write records in its transaction which providers it changed, and how.

See architecture.rst D4.
"""

import pytest

from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    holding,
    numbered,
    stock,
)

PATH = f"/resource_providers/{ROOT}"
CREATED = numbered("a", 9)


def news(service, after):
    """Return `{provider uuid: kinds}` of rows appended since; rows without provider under None."""
    names = dict(service.ask("SELECT id, uuid FROM resource_providers"))
    rows = service.ask(
        "SELECT resource_provider_id, kind FROM berth_provider_changes "
        "WHERE id > :after ORDER BY id",
        after=after,
    )
    found = {}
    for provider_id, kind in rows:
        uuid = None if provider_id == NO_PROVIDER else names.get(provider_id, "gone")
        found[uuid] = found.get(uuid, ChangeKind(0)) | ChangeKind(kind)
    return found


def newest(service):
    return service.ask("SELECT max(id) FROM berth_provider_changes")[0][0]


#: what is written, and the kinds of change by provider
WRITES = {
    "a provider is created": (
        ("POST", "/resource_providers", {"name": "x", "uuid": CREATED}),
        {CREATED: ChangeKind.ROW},
    ),
    "a provider is renamed": (("PUT", PATH, {"name": "x"}), {ROOT: ChangeKind.ROW}),
    "a tree is moved": (
        ("PUT", PATH, {"name": "x", "parent_provider_uuid": EMPTY}),
        {ROOT: ChangeKind.ROW, CHILD: ChangeKind.ROW},
    ),
    "a provider is deleted": (
        ("DELETE", f"/resource_providers/{EMPTY}", None),
        {"gone": ChangeKind.DELETED},
    ),
    "inventories are replaced": (
        ("PUT", f"{PATH}/inventories", stock(5, VCPU=9, DISK_GB=100)),
        {ROOT: ChangeKind.INVENTORY},
    ),
    "an inventory is added": (
        ("POST", f"{PATH}/inventories", {"resource_class": "VGPU", "total": 1}),
        {ROOT: ChangeKind.INVENTORY},
    ),
    "an inventory is changed": (
        ("PUT", f"{PATH}/inventories/VCPU", {"resource_provider_generation": 5, "total": 1}),
        {ROOT: ChangeKind.INVENTORY},
    ),
    "an inventory is deleted": (
        ("DELETE", f"{PATH}/inventories/CUSTOM_A", None),
        {ROOT: ChangeKind.INVENTORY},
    ),
    "all inventories are deleted": (
        ("DELETE", f"/resource_providers/{EMPTY}/inventories", None),
        {EMPTY: ChangeKind.INVENTORY},
    ),
    "traits are replaced": (
        (
            "PUT",
            f"{PATH}/traits",
            {"traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": 5},
        ),
        {ROOT: ChangeKind.TRAITS},
    ),
    "traits are deleted": (("DELETE", f"{PATH}/traits", None), {ROOT: ChangeKind.TRAITS}),
    "traits stay the same": (
        ("PUT", f"{PATH}/traits", {"traits": ["CUSTOM_T"], "resource_provider_generation": 5}),
        {},
    ),
    "aggregates are replaced": (
        ("PUT", f"{PATH}/aggregates", {"aggregates": [], "resource_provider_generation": 5}),
        {ROOT: ChangeKind.AGGREGATES},
    ),
    "a consumer takes something": (
        ("PUT", f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}, CHILD: {"VGPU": 1}})),
        {ROOT: ChangeKind.USAGE, CHILD: ChangeKind.USAGE},
    ),
    "a consumer moves away": (
        ("PUT", f"/allocations/{OTHER_HOLDER}", holding({ROOT: {"VCPU": 1}}, generation=1)),
        {ROOT: ChangeKind.USAGE, CHILD: ChangeKind.USAGE},
    ),
    "a consumer gives all up": (
        ("PUT", f"/allocations/{HOLDER}", holding({}, generation=2)),
        {ROOT: ChangeKind.USAGE},
    ),
    "a new consumer takes nothing": (("PUT", f"/allocations/{NEW}", holding({})), {}),
    "allocations are deleted": (
        ("DELETE", f"/allocations/{HOLDER}", None),
        {ROOT: ChangeKind.USAGE},
    ),
    "several consumers change": (
        (
            "POST",
            "/allocations",
            {
                HOLDER: holding({}, generation=2),
                OTHER_HOLDER: holding({CHILD: {"VGPU": 2}}, generation=1),
            },
        ),
        {ROOT: ChangeKind.USAGE, CHILD: ChangeKind.USAGE},
    ),
    "a reshape": (
        (
            "POST",
            "/reshaper",
            {
                "inventories": {ROOT: stock(5, DISK_GB=100), EMPTY: stock(0, VCPU=8)},
                "allocations": {
                    HOLDER: holding({ROOT: {"DISK_GB": 10}, EMPTY: {"VCPU": 4}}, generation=2)
                },
            },
        ),
        {
            ROOT: ChangeKind.INVENTORY | ChangeKind.USAGE,
            EMPTY: ChangeKind.INVENTORY | ChangeKind.USAGE,
        },
    ),
    "a reshape of inventories alone": (
        ("POST", "/reshaper", {"inventories": {EMPTY: stock(0, VCPU=8)}, "allocations": {}}),
        {EMPTY: ChangeKind.INVENTORY},
    ),
    "a class is renamed": (
        ("PUT", "/resource_classes/CUSTOM_UNUSED", {"name": "CUSTOM_B"}, "1.2"),
        {None: ChangeKind.NAMES},
    ),
    "a class is renamed that a provider has": (
        ("PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_B"}, "1.2"),
        {None: ChangeKind.NAMES, ROOT: ChangeKind.INVENTORY},
    ),
}


@pytest.mark.parametrize(("request_", "changed"), WRITES.values(), ids=WRITES)
def test_a_write_records_its_changes(filled, request_, changed):
    before = newest(filled)
    method, path, body, *version = request_

    response = filled.request(method, path, body, *version)

    assert response.status_code < 300, response.text
    assert news(filled, before) == changed


def test_a_deletion_is_recorded_once_with_the_uuid(filled):
    before = newest(filled)
    filled.delete(f"/resource_providers/{EMPTY}")
    rows = filled.ask(
        "SELECT resource_provider_uuid FROM berth_provider_changes WHERE id > :before",
        before=before,
    )
    assert rows == [(EMPTY,)]
