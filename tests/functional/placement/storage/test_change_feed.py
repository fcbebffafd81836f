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


@pytest.mark.parametrize(
    ("request_", "changed"),
    [
        pytest.param(
            ("POST", "/resource_providers", {"name": "x", "uuid": CREATED}),
            {CREATED: ChangeKind.ROW},
            id="a provider is created",
        ),
        pytest.param(
            ("PUT", PATH, {"name": "x"}), {ROOT: ChangeKind.ROW}, id="a provider is renamed"
        ),
        pytest.param(
            ("PUT", PATH, {"name": "x", "parent_provider_uuid": EMPTY}),
            {ROOT: ChangeKind.ROW, CHILD: ChangeKind.ROW},
            id="a tree is moved",
        ),
        pytest.param(
            ("DELETE", f"/resource_providers/{EMPTY}", None),
            {"gone": ChangeKind.DELETED},
            id="a provider is deleted",
        ),
        pytest.param(
            ("PUT", f"{PATH}/inventories", stock(5, VCPU=9, DISK_GB=100)),
            {ROOT: ChangeKind.INVENTORY},
            id="inventories are replaced",
        ),
        pytest.param(
            ("POST", f"{PATH}/inventories", {"resource_class": "VGPU", "total": 1}),
            {ROOT: ChangeKind.INVENTORY},
            id="an inventory is added",
        ),
        pytest.param(
            (
                "PUT",
                f"{PATH}/inventories/VCPU",
                {"resource_provider_generation": 5, "total": 1},
            ),
            {ROOT: ChangeKind.INVENTORY},
            id="an inventory is changed",
        ),
        pytest.param(
            ("DELETE", f"{PATH}/inventories/CUSTOM_A", None),
            {ROOT: ChangeKind.INVENTORY},
            id="an inventory is deleted",
        ),
        pytest.param(
            ("DELETE", f"/resource_providers/{EMPTY}/inventories", None),
            {EMPTY: ChangeKind.INVENTORY},
            id="all inventories are deleted",
        ),
        pytest.param(
            (
                "PUT",
                f"{PATH}/traits",
                {"traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": 5},
            ),
            {ROOT: ChangeKind.TRAITS},
            id="traits are replaced",
        ),
        pytest.param(
            ("DELETE", f"{PATH}/traits", None), {ROOT: ChangeKind.TRAITS}, id="traits are deleted"
        ),
        pytest.param(
            (
                "PUT",
                f"{PATH}/traits",
                {"traits": ["CUSTOM_T"], "resource_provider_generation": 5},
            ),
            {},
            id="traits stay the same",
        ),
        pytest.param(
            (
                "PUT",
                f"{PATH}/aggregates",
                {"aggregates": [], "resource_provider_generation": 5},
            ),
            {ROOT: ChangeKind.AGGREGATES},
            id="aggregates are replaced",
        ),
        pytest.param(
            ("PUT", f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}, CHILD: {"VGPU": 1}})),
            {ROOT: ChangeKind.USAGE, CHILD: ChangeKind.USAGE},
            id="a consumer takes something",
        ),
        pytest.param(
            ("PUT", f"/allocations/{OTHER_HOLDER}", holding({ROOT: {"VCPU": 1}}, generation=1)),
            {ROOT: ChangeKind.USAGE, CHILD: ChangeKind.USAGE},
            id="a consumer moves away",
        ),
        pytest.param(
            ("PUT", f"/allocations/{HOLDER}", holding({}, generation=2)),
            {ROOT: ChangeKind.USAGE},
            id="a consumer gives all up",
        ),
        pytest.param(
            ("PUT", f"/allocations/{NEW}", holding({})), {}, id="a new consumer takes nothing"
        ),
        pytest.param(
            ("DELETE", f"/allocations/{HOLDER}", None),
            {ROOT: ChangeKind.USAGE},
            id="allocations are deleted",
        ),
        pytest.param(
            (
                "POST",
                "/allocations",
                {
                    HOLDER: holding({}, generation=2),
                    OTHER_HOLDER: holding({CHILD: {"VGPU": 2}}, generation=1),
                },
            ),
            {ROOT: ChangeKind.USAGE, CHILD: ChangeKind.USAGE},
            id="several consumers change",
        ),
        pytest.param(
            (
                "POST",
                "/reshaper",
                {
                    "inventories": {
                        ROOT: stock(5, DISK_GB=100),
                        EMPTY: stock(0, VCPU=8),
                    },
                    "allocations": {
                        HOLDER: holding({ROOT: {"DISK_GB": 10}, EMPTY: {"VCPU": 4}}, generation=2)
                    },
                },
            ),
            {
                ROOT: ChangeKind.INVENTORY | ChangeKind.USAGE,
                EMPTY: ChangeKind.INVENTORY | ChangeKind.USAGE,
            },
            id="a reshape",
        ),
        pytest.param(
            (
                "POST",
                "/reshaper",
                {"inventories": {EMPTY: stock(0, VCPU=8)}, "allocations": {}},
            ),
            {EMPTY: ChangeKind.INVENTORY},
            id="a reshape of inventories alone",
        ),
        pytest.param(
            ("PUT", "/resource_classes/CUSTOM_UNUSED", {"name": "CUSTOM_B"}, "1.2"),
            {None: ChangeKind.NAMES},
            id="a class is renamed",
        ),
        pytest.param(
            ("PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_B"}, "1.2"),
            {None: ChangeKind.NAMES, ROOT: ChangeKind.INVENTORY},
            id="a class is renamed that a provider has",
        ),
    ],
)
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
