"""What commands do grows with what there is, and not faster."""

import pytest

from compute.maintenance.provider_details import ProviderDetails
from compute.records.instance import Flavor
from compute.report.wire.transport import Transport
from virt.fake import FakeNUMAReshapeDriver, MediumFakeDriver

CARD = {"CUSTOM_CARD": {"total": 1}}


@pytest.fixture
def requests(monkeypatch):
    """Return the verbs and URLs that commands send."""
    seen = []
    for verb in ("get", "put", "post"):
        send = getattr(Transport, verb)

        def noting(client, url, *args, _send=send, _verb=verb, **kwargs):
            seen.append((_verb, url))
            return _send(client, url, *args, **kwargs)

        monkeypatch.setattr(Transport, verb, noting)
    return seen


def test_a_plan_counts_each_holder_of_a_device_once(sqlite_site, monkeypatch):
    """It recounted all holders of all devices for each move."""
    looked = []
    capacity = ProviderDetails.capacity
    monkeypatch.setattr(
        ProviderDetails, "capacity", lambda one, name: looked.append(name) or capacity(one, name)
    )
    counts = {}
    with sqlite_site.placement() as outsider:
        root = outsider.provider("host1", None, {"VCPU": {"total": 64}})
        other = outsider.provider("host2", None, {"VCPU": {"total": 64}})
        for number in range(1, 21):
            here, there = (
                outsider.provider(f"card-{number} of {parent}", parent, CARD)
                for parent in (root, other)
            )
            outsider.allocate({root: {"VCPU": 1}, here: {"CUSTOM_CARD": 1}})
            if number in (10, 20):
                looked.clear()
                ended = sqlite_site.run("drain", "--host", "host1", "--plan", "--json")
                assert len(ended.json["moves"]) == number
                counts[number] = len(looked)
            assert there
    assert counts[20] <= 3 * counts[10]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "one by one"])
def test_healing_reads_a_node_once_for_many_guests(sqlite_site, requests, whole, monkeypatch):
    monkeypatch.setenv("OS_BERTH__WHOLE_TREES", str(whole))
    root = sqlite_site.start_service_once(MediumFakeDriver)
    counts = []
    for _ in range(2):
        guests = [sqlite_site.guest(flavor=Flavor(vcpus=1)) for _ in range(5)]
        requests.clear()
        assert sqlite_site.run("heal_allocations").code == 0
        counts.append(sum(_reads_providers(verb, url) for verb, url in requests))
        with sqlite_site.placement() as outsider:
            assert all(outsider.allocations(guest) == {root: {"VCPU": 1}} for guest in guests)
    assert max(counts) < 10


def _reads_providers(verb, url):
    return verb == "get" and ("provider_trees" in url or url.startswith("/resource_providers"))


def test_a_guest_whose_cell_is_filled_meanwhile_gets_another(sqlite_site, monkeypatch):
    """The tree was read for the guest before it."""
    sqlite_site.configure("fake.FakeNUMAReshapeDriver")
    root = sqlite_site.start_service_once(FakeNUMAReshapeDriver)
    with sqlite_site.placement() as outsider:
        rows = outsider.call("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
        first, second = sorted(
            (row for row in rows if row["uuid"] != root), key=lambda row: row["name"]
        )
        guests = [sqlite_site.guest(flavor=Flavor(vcpus=1, memory_mb=64)) for _ in range(2)]
        put, taken = Transport.put, []

        def taking(client, url, *args, **kwargs):
            if url.endswith(guests[1]) and not taken:
                left = {
                    name: int((one["total"] - one["reserved"]) * one["allocation_ratio"])
                    for name, one in outsider.inventory(first["uuid"]).items()
                }
                most = min(left["VCPU"] - 1, outsider.inventory(first["uuid"])["VCPU"]["max_unit"])
                while left["VCPU"] > 1:
                    some = min(most, left["VCPU"] - 1)
                    taken.append(outsider.allocate({first["uuid"]: {"VCPU": some}}))
                    left["VCPU"] -= some
            return put(client, url, *args, **kwargs)

        monkeypatch.setattr(Transport, "put", taking)
        assert sqlite_site.run("heal_allocations").code == 0
        assert taken
        places = [set(outsider.allocations(guest)) for guest in guests]
        assert places == [{first["uuid"]}, {second["uuid"]}]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "one by one"])
def test_an_audit_asks_for_its_own_host_however_large_the_cloud_is(
    sqlite_site, requests, whole, monkeypatch
):
    """Without extensions: once for each provider of the host, and for each suspected consumer."""
    monkeypatch.setenv("OS_BERTH__WHOLE_TREES", str(whole))
    sqlite_site.remember_a_guest()
    root = sqlite_site.start_service_once(MediumFakeDriver)
    counts = []
    with sqlite_site.placement() as outsider:
        cells = [outsider.provider(f"cell{n}", root, {"VCPU": {"total": 8}}) for n in range(4)]
        for cell in cells:
            outsider.allocate({cell: {"VCPU": 1}, root: {"VCPU": 1}})
        for number in range(2):
            for other in range(10):
                stranger = outsider.provider(
                    f"other-{number}-{other}", None, {"VCPU": {"total": 8}}
                )
                outsider.allocate({stranger: {"VCPU": 1}})
            requests.clear()
            ended = sqlite_site.run("audit", "--json")
            assert (ended.code, len(ended.json["allocations"])) == (3, 8)
            counts.append(len(requests))
    assert counts[0] == counts[1]
    # besides: the list of the tree, those that share, twice, and what the client asks at first
    assert counts[0] <= 1 + len(cells) + len(cells) + 5
