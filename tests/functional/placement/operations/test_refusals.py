"""A rejected request changes no row of any table (rest-api.md 4.7)."""

import pytest

from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    UNKNOWN,
    holding,
    numbered,
    stock,
)

pytestmark = pytest.mark.spread_over_databases

PROVIDER = f"/resource_providers/{ROOT}"
RESHAPED = {ROOT: stock(5, VCPU=8, DISK_GB=100, CUSTOM_A=4)}


def provider(name, uuid=None, **more):
    return {"name": name, "uuid": uuid or numbered("a", 77), **more}


def traits(generation, *names):
    return {"traits": list(names), "resource_provider_generation": generation}


def inventory(generation=5, **record):
    return {"resource_provider_generation": generation, "total": 1, **record}


def reshape(inventories=None, **allocations):
    return {
        "inventories": RESHAPED if inventories is None else inventories,
        "allocations": {
            {"holder": HOLDER, "other": OTHER_HOLDER, "new": NEW}[who]: wanted
            for who, wanted in allocations.items()
        },
    }


FITS = holding({ROOT: {"VCPU": 1}})
TOO_MUCH = holding({ROOT: {"VCPU": 9}})

REFUSED = {
    # providers
    "a taken name": (409, "POST", "/resource_providers", provider("root")),
    "a taken uuid": (409, "POST", "/resource_providers", provider("x", ROOT)),
    "an empty name": (400, "POST", "/resource_providers", provider("")),
    "no name": (400, "POST", "/resource_providers", {}),
    "an unknown parent": (
        400,
        "POST",
        "/resource_providers",
        provider("x", parent_provider_uuid=UNKNOWN),
    ),
    "its own parent": (
        400,
        "POST",
        "/resource_providers",
        provider("x", numbered("a", 5), parent_provider_uuid=numbered("a", 5)),
    ),
    "another provider's name": (409, "PUT", PROVIDER, {"name": "empty"}),
    "a loop": (400, "PUT", PROVIDER, {"name": "new", "parent_provider_uuid": CHILD}),
    "a new name and an unknown parent": (
        400,
        "PUT",
        PROVIDER,
        {"name": "new", "parent_provider_uuid": UNKNOWN},
    ),
    "a rename of an unknown provider": (
        404,
        "PUT",
        f"/resource_providers/{UNKNOWN}",
        {"name": "x"},
    ),
    "deleting a parent": (409, "DELETE", PROVIDER, None),
    "deleting a provider in use": (409, "DELETE", f"/resource_providers/{CHILD}", None),
    "deleting an unknown provider": (404, "DELETE", f"/resource_providers/{UNKNOWN}", None),
    # inventories
    "old generation of inventories": (409, "PUT", f"{PROVIDER}/inventories", stock(4, VCPU=8)),
    "dropping a class in use": (409, "PUT", f"{PROVIDER}/inventories", stock(5, CUSTOM_A=4)),
    "an unknown class": (
        400,
        "PUT",
        f"{PROVIDER}/inventories",
        stock(5, VCPU=8, DISK_GB=100, CUSTOM_NOPE=4),
    ),
    "a negative capacity": (
        400,
        "PUT",
        f"{PROVIDER}/inventories/VCPU",
        inventory(total=4, reserved=5),
    ),
    "an inventory that exists": (
        409,
        "POST",
        f"{PROVIDER}/inventories",
        {"resource_class": "VCPU", "total": 4},
    ),
    "an inventory of an unknown class": (
        400,
        "POST",
        f"{PROVIDER}/inventories",
        {"resource_class": "CUSTOM_NOPE", "total": 4},
    ),
    "an inventory that does not exist": (400, "PUT", f"{PROVIDER}/inventories/VGPU", inventory()),
    "old generation of one inventory": (
        409,
        "PUT",
        f"{PROVIDER}/inventories/VCPU",
        inventory(generation=4),
    ),
    "deleting an inventory in use": (409, "DELETE", f"{PROVIDER}/inventories/VCPU", None),
    "deleting an inventory that does not exist": (
        404,
        "DELETE",
        f"{PROVIDER}/inventories/VGPU",
        None,
    ),
    "deleting all inventories in use": (409, "DELETE", f"{PROVIDER}/inventories", None),
    # traits and aggregates of a provider
    "old generation of traits": (409, "PUT", f"{PROVIDER}/traits", traits(4, "HW_CPU_X86_AVX")),
    "an unknown trait": (400, "PUT", f"{PROVIDER}/traits", traits(5, "HW_CPU_X86_AVX", "NOPE")),
    "traits of an unknown provider": (
        404,
        "PUT",
        f"/resource_providers/{UNKNOWN}/traits",
        traits(0),
    ),
    "old generation of aggregates": (
        409,
        "PUT",
        f"{PROVIDER}/aggregates",
        {"aggregates": [numbered("b", 99)], "resource_provider_generation": 4},
    ),
    "aggregates of an unknown provider": (
        404,
        "PUT",
        f"/resource_providers/{UNKNOWN}/aggregates",
        {"aggregates": [numbered("b", 99)], "resource_provider_generation": 0},
    ),
    # names
    "a class that exists": (409, "POST", "/resource_classes", {"name": "CUSTOM_A"}),
    "a standard class": (400, "PUT", "/resource_classes/VCPU", None),
    "deleting a class in use": (409, "DELETE", "/resource_classes/CUSTOM_A", None),
    "deleting a standard class": (400, "DELETE", "/resource_classes/VCPU", None),
    "deleting an unknown class": (404, "DELETE", "/resource_classes/CUSTOM_NOPE", None),
    "a standard trait": (400, "PUT", "/traits/HW_NEW", None),
    "deleting a trait in use": (409, "DELETE", "/traits/CUSTOM_T", None),
    "deleting a standard trait": (400, "DELETE", "/traits/HW_CPU_X86_AVX", None),
    "deleting an unknown trait": (404, "DELETE", "/traits/CUSTOM_NOPE", None),
    # allocations
    "more than the capacity": (409, "PUT", f"/allocations/{NEW}", TOO_MUCH),
    "too much of one class": (
        409,
        "PUT",
        f"/allocations/{NEW}",
        holding({ROOT: {"VCPU": 1, "DISK_GB": 91}}),
    ),
    "a class without inventory": (
        409,
        "PUT",
        f"/allocations/{NEW}",
        holding({ROOT: {"VCPU": 1, "VGPU": 1}}),
    ),
    "a provider without inventory": (
        409,
        "PUT",
        f"/allocations/{NEW}",
        holding({ROOT: {"VCPU": 1}, EMPTY: {"VCPU": 1}}),
    ),
    "an unknown provider": (400, "PUT", f"/allocations/{NEW}", holding({UNKNOWN: {"VCPU": 1}})),
    "allocations of an unknown class": (
        400,
        "PUT",
        f"/allocations/{NEW}",
        holding({ROOT: {"NOPE": 1}}, project="new", user="new", kind="NEW"),
    ),
    "a consumer that isn't new": (409, "PUT", f"/allocations/{HOLDER}", FITS),
    "a consumer's old generation": (
        409,
        "PUT",
        f"/allocations/{HOLDER}",
        holding({ROOT: {"VCPU": 1}}, generation=1, project="new"),
    ),
    "a generation of a new consumer": (
        409,
        "PUT",
        f"/allocations/{NEW}",
        holding({ROOT: {"VCPU": 1}}, generation=1),
    ),
    "a consumer that is no uuid": (400, "PUT", "/allocations/nobody", FITS),
    "deleting allocations that do not exist": (404, "DELETE", f"/allocations/{NEW}", None),
    "the last of several consumers": (
        409,
        "POST",
        "/allocations",
        {
            HOLDER: holding({}, generation=2),
            numbered("c", 50): holding({ROOT: {"VCPU": 4}}, project="new"),
            numbered("c", 51): holding({CHILD: {"VGPU": 1}}, user="new"),
            NEW: holding({ROOT: {"VCPU": 5}}, kind="NEW"),
        },
    ),
    "the generation of the last of several consumers": (
        409,
        "POST",
        "/allocations",
        {NEW: FITS, HOLDER: holding({ROOT: {"VCPU": 1}}, generation=7)},
    ),
    "an unknown provider of the last of several": (
        400,
        "POST",
        "/allocations",
        {NEW: FITS, numbered("c", 50): holding({UNKNOWN: {"VCPU": 1}})},
    ),
    # reshapes
    "a reshape of an unknown provider": (400, "POST", "/reshaper", reshape({UNKNOWN: stock(0)})),
    "a reshape at an old generation": (
        409,
        "POST",
        "/reshaper",
        reshape({CHILD: stock(2, VGPU=4), ROOT: stock(4)}),
    ),
    "a reshape that drops a class in use": (
        409,
        "POST",
        "/reshaper",
        reshape({ROOT: stock(5, DISK_GB=100), CHILD: stock(2, VGPU=4)}),
    ),
    "a reshape to an unknown class": (
        400,
        "POST",
        "/reshaper",
        reshape({ROOT: stock(5, NOPE=1)}),
    ),
    "a reshape of a consumer's old generation": (
        409,
        "POST",
        "/reshaper",
        reshape(new=FITS, holder=holding({ROOT: {"VCPU": 1}}, generation=1)),
    ),
    "a reshape with too much": (
        409,
        "POST",
        "/reshaper",
        reshape(
            {ROOT: stock(5, DISK_GB=100), CHILD: stock(2, VGPU=2, VCPU=3)},
            holder=holding({ROOT: {"DISK_GB": 10}, CHILD: {"VCPU": 4}}, generation=2),
        ),
    ),
    "a reshape with an unknown provider at the end": (
        400,
        "POST",
        "/reshaper",
        reshape(new=FITS, holder=holding({UNKNOWN: {"VCPU": 1}}, generation=2)),
    ),
    "a reshape with an allocation of an unknown class": (
        400,
        "POST",
        "/reshaper",
        reshape(new=holding({ROOT: {"NOPE": 1}}, project="new")),
    ),
}


@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED.keys())
def test_a_rejected_request_changes_nothing(unchanging, request_):
    status, method, path, body = request_
    before = unchanging.tables()

    response = unchanging.request(method, path, body)

    assert (response.status_code, unchanging.tables()) == (status, before)


def test_an_accepted_request_does_change_something(filled):
    before = filled.tables()
    assert filled.put(f"/allocations/{NEW}", FITS).status_code == 204
    assert filled.tables() != before
