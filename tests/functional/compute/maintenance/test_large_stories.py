"""The manual's stories of one host ask, and print, the same however large the cloud is.

A thorough run has 1,000 hosts with 10,000 guests.
"""

import time

import pytest

from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.cloud_rows import GUESTS, SHARE, uuid_of, write_hosts
from tests.functional.compute.maintenance.site import HOST

FLAVOR = Flavor(vcpus=2, memory_mb=512, root_gb=20)
CARD = {"CUSTOM_CARD": {"total": 1, "max_unit": 1, "reserved": 1}}
#: guests of the host that are recorded; the last of its consumers in placement is a leftover
KNOWN = GUESTS - 1
#: story → command and exit code; in this order they mend the host
STORIES = {
    "tree": (("tree", "--node", HOST), 0),
    "consumers": (("consumers", "--node", HOST), 0),
    "audit": (("audit",), 3),
    "audit --suspects": (("audit", "--suspects"), 3),
    # what a guest lacks is left to do
    "audit --delete": (("audit", "--delete"), 3),
    "heal --dry-run": (("heal_allocations", "--dry-run"), 4),
    "heal": (("heal_allocations",), 0),
    "devices": (("devices", "--host", HOST), 3),
    "drain": (("drain", "--host", HOST, "--plan"), 0),
    "evacuable": (("evacuable", HOST), 0),
    "explain": (("explain", "--query", "resources=VCPU:11"), 3),
    "audit again": (("audit",), 0),
}


@pytest.fixture
def told(site, monkeypatch):
    """Return a function that makes the cloud and tells the stories: name → requests and lines."""
    sent = []
    for verb in ("get", "put", "post", "delete"):
        send = getattr(Transport, verb)

        def noting(client, url, *args, _send=send, **kwargs):
            sent.append(url)
            return _send(client, url, *args, **kwargs)

        monkeypatch.setattr(Transport, verb, noting)

    def tell(hosts):
        write_hosts(site.url, hosts)
        with site.cell() as cell:
            cell.compute_nodes.create(ComputeNode(uuid_of(1), HOST, HOST))
        for number in range(KNOWN):
            site.guest(uuid=uuid_of(1, number), flavor=FLAVOR, vm_state="active")
        lost = site.guest(flavor=FLAVOR, vm_state="active")
        with site.placement() as outsider:
            device = f"{HOST}_0000:81:00.0"
            outsider.provider(device, uuid_of(1), CARD, ["HW_PCI_ONE_TIME_USE"])
        found, lines = {}, []
        for name, (words, code) in STORIES.items():
            sent.clear()
            begun = time.process_time()
            ended = site.run(*words)
            took = time.process_time() - begun
            assert (name, ended.code) == (name, code), ended
            found[name] = (len(sent), ended.out.count("\n"))
            lines.append(f"{hosts} hosts, {name}: {found[name]}, {took:.2f} s of processor time")
        # what was printed before this went with the commands' output
        print(*lines, sep="\n")
        with site.placement() as outsider:
            assert outsider.allocations(uuid_of(1, KNOWN)) == {}
            assert outsider.allocations(lost) == {uuid_of(1): SHARE}
            assert outsider.allocations(uuid_of(hosts, KNOWN)) == {uuid_of(hosts): SHARE}
        return found

    return tell


#: story → how many requests it may send, and lines it may print, in a cloud of any size
BOUNDS = {
    "tree": (2, 18),
    "consumers": (2, 20),
    "audit": (7, 4),
    "audit --suspects": (8, 7),
    "audit --delete": (11, 5),
    "heal --dry-run": (3, 2),
    "heal": (4, 1),
    "devices": (3, 1),
    # a question for each guest, and one for the name of each host that guests go to
    "drain": (16 + GUESTS, 22),
    # it asks for the instances by what their flavors say, not by what they hold
    "evacuable": (7, 6),
    # the nearest hosts, of which few are told
    "explain": (1, 45),
    "audit again": (5, 0),
}


@pytest.mark.spread_over_databases
@pytest.mark.parametrize("hosts", [4, pytest.param(1000, marks=pytest.mark.thorough)])
def test_a_story_of_one_host_asks_and_prints_no_more_than_in_a_small_cloud(told, hosts):
    found = told(hosts)
    beyond = {
        name: asked_and_lines
        for name, asked_and_lines in found.items()
        if any(one > most for one, most in zip(asked_and_lines, BOUNDS[name], strict=True))
    }
    assert beyond == {}
