"""A host that comes back under another uuid, and what is where when all that it had is adopted."""

import pytest

OLD, NEW, RACK = (f"{letter * 8}-0000-4000-8000-000000000001" for letter in "abc")
#: what versions before this one called OLD meanwhile, and what this one calls NEW
MARK, PROVISIONAL = f"replaced-by-{NEW}", f"adopting-{OLD}"
STOCK = {
    "VCPU": {"total": 16, "allocation_ratio": 4.0},
    "MEMORY_MB": {"total": 65536, "reserved": 512},
}
CELL = {"CUSTOM_CELL": {"total": 8}}
#: the kinds of the steps, in their order
STEPS = ["create", "traits", "aggregates", "reshape", "child", "delete", "rename"]
#: what asks placement whether the user may reshape
NOTHING = {"inventories": {}, "allocations": {}}


def build(outsider, name="host1", uuid=OLD):
    """Make a host with a cell below a cell, a shared pool, and three consumers; what they are."""
    root = outsider.provider(name, None, STOCK, ["CUSTOM_GOLD"], [RACK], uuid)
    cell = outsider.provider(f"{name}_numa0", root, CELL, ["CUSTOM_CELL_TRAIT"])
    deep = outsider.provider(f"{name}_numa0_gpu", cell, {"VGPU": {"total": 4}})
    pool = outsider.provider(
        f"pool-of-{name}",
        inventory={"DISK_GB": {"total": 100}},
        traits=["MISC_SHARES_VIA_AGGREGATE"],
        aggregates=[RACK],
    )
    return {
        "cell": cell,
        "deep": deep,
        "pool": pool,
        "a": outsider.allocate({root: {"VCPU": 2, "MEMORY_MB": 1024}, pool: {"DISK_GB": 5}}),
        "b": outsider.allocate({root: {"VCPU": 4}, cell: {"CUSTOM_CELL": 1}, deep: {"VGPU": 1}}),
        "moving": outsider.allocate({root: {"VCPU": 1}}, consumer_type="MIGRATION"),
    }


@pytest.fixture
def outsider(site):
    with site.placement() as outsider:
        yield outsider


@pytest.fixture
def host(outsider):
    return build(outsider)


def adopt(site, *more, name="host1"):
    return site.run("adopt_provider", "--name", name, "--uuid", NEW, *more)


def check(outsider, host, name="host1"):
    """All is below the new root, once, and nothing is left of the old."""
    tree = outsider.call("GET", f"/resource_providers?in_tree={NEW}")["resource_providers"]
    parents = {row["name"]: row["parent_provider_uuid"] for row in tree}
    assert parents == {name: None, f"{name}_numa0": NEW, f"{name}_numa0_gpu": host["cell"]}
    assert {row["uuid"] for row in tree} == {NEW, host["cell"], host["deep"]}
    assert not outsider.exists(OLD)
    assert outsider.totals(NEW) == {"VCPU": 16, "MEMORY_MB": 65536}
    assert outsider.inventory(NEW)["VCPU"]["allocation_ratio"] == 4.0
    assert outsider.traits(NEW) == {"CUSTOM_GOLD"}
    assert outsider.aggregates(NEW) == {RACK}
    assert outsider.allocations(host["a"]) == {
        NEW: {"VCPU": 2, "MEMORY_MB": 1024},
        host["pool"]: {"DISK_GB": 5},
    }
    assert outsider.allocations(host["b"]) == {
        NEW: {"VCPU": 4},
        host["cell"]: {"CUSTOM_CELL": 1},
        host["deep"]: {"VGPU": 1},
    }
    assert outsider.allocations(host["moving"]) == {NEW: {"VCPU": 1}}
    known = outsider.call("GET", f"/allocations/{host['moving']}")
    assert known["consumer_type"] == "MIGRATION"


class Killed(BaseException):
    """The process ends here."""


def kills(writes):
    """Yield number of a write, and whether it is done; all is then as before the next one.

    Before the first one all is as it was without a run.
    """
    for number in range(writes):
        yield pytest.param(number, True, id=f"{number}-after")
        yield pytest.param(number, False, id=f"{number}-before", marks=pytest.mark.thorough)


def dying(send, left, done):
    """Return a sender that ends the process before or after the nth write."""

    def die(client, url, *args, **kwargs):
        if args[:1] == (NOTHING,):
            return send(client, url, *args, **kwargs)
        if left[0] < 0:
            raise Killed
        if left[0] == 0 and not done:
            left[0] = -1
            raise Killed
        answer = send(client, url, *args, **kwargs)
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return answer

    return die
