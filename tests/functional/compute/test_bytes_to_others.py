"""What a placement that isn't Berth is sent: the same bytes as if whole trees didn't exist.

The one difference is the question whether whole trees are offered (extensions.md 1): one request of
each client, and again after ten minutes.
"""

import contextlib
import itertools
from typing import NamedTuple
from uuid import NAMESPACE_DNS, uuid5

import pytest

from compute import config
from compute.exceptions import ReshapeNeeded
from compute.maintenance.audit.audit import Auditor
from compute.maintenance.provider_details import find_roots, read_tree
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from tests.functional.compute.compute_host import ComputeHost
from tests.functional.compute.outsider import Outsider
from tests.functional.conftest import own_service
from virt.fake import MediumFakeDriver
from virt.inventory import record

HOST = "host1"
PREFIX = "/placement/berth/v1"
#: random in each context; whether it is there is compared
RANDOM_HEADERS = {"X-Openstack-Request-Id"}


def fixed(name):
    """Return a uuid that is the same in both runs."""
    return str(uuid5(NAMESPACE_DNS, name))


AGGREGATE = fixed("aggregate")
CONSUMERS = [fixed(f"consumer {number}") for number in range(3)]


class Sent(NamedTuple):
    """A request as it is sent."""

    method: str
    path: str
    headers: dict
    body: bytes | None


class Cards(MediumFakeDriver):
    """The root in an aggregate, and cards below it."""

    cards = 3

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        tree.add_aggregates(nodename, AGGREGATE)
        for number in range(self.cards):
            name = f"{nodename}_card{number}"
            if not tree.exists(name):
                tree.new_child(name, nodename, fixed(name))
            tree.update_inventory(name, {"VGPU": record(4), "CUSTOM_SLOT": record(1)})
            tree.update_traits(name, ["HW_GPU_API_VULKAN", f"CUSTOM_CARD_{number}"])


class FewerCards(Cards):
    """One card is gone, another has got a trait."""

    cards = 2

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        if tree.exists(f"{nodename}_card2"):
            tree.remove(f"{nodename}_card2")
        tree.add_traits(f"{nodename}_card0", "HW_GPU_API_OPENCL_V2_0")


class Nested(FewerCards):
    """The CPUs and their consumers belong to a child."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        is_moved = tree.exists(f"{nodename}_numa0")
        if not is_moved and allocations is None:
            raise ReshapeNeeded()
        super().update_provider_tree(tree, nodename, allocations)
        root, numa = tree.data(nodename), fixed("numa")
        if not is_moved:
            tree.new_child(f"{nodename}_numa0", nodename, numa)
        rest = dict(root.inventory)
        tree.update_inventory(numa, {"VCPU": rest.pop("VCPU")})
        tree.update_inventory(nodename, rest)
        for body in (allocations or {}).values():
            held = body["allocations"]
            held[numa] = {"resources": {"VCPU": held[root.uuid]["resources"].pop("VCPU")}}


class Wire:
    """All requests that a `requests` session sends, by step."""

    def __init__(self, http):
        self.steps = {}
        self._now = None
        http.hooks["response"].append(self._note)

    def begin(self, step):
        self._now = self.steps[step] = []

    def _note(self, response, **kwargs):
        request = response.request
        headers = {
            name: "" if name in RANDOM_HEADERS else value for name, value in request.headers.items()
        }
        sent = Sent(request.method, request.path_url, headers, request.body)
        self._now.append((sent, response.status_code))


def live(wire, folder, adapter, whole):
    """Lead a host's life, and look at it as an operator does."""
    state = folder / "state"
    state.mkdir()
    (state / "compute_id").write_text(fixed(HOST))
    overrides = {
        ("berth", "whole_trees"): whole,
        (None, "host"): HOST,
        (None, "state_path"): str(state),
        ("compute", "provider_config_location"): str(folder / "provider_config"),
    }
    conf = config.load(files=[], environ={}, overrides=overrides)
    host, outsider = ComputeHost(conf, lambda: adapter), Outsider(adapter)
    with contextlib.closing(host.cell):
        wire.begin("first start")
        host.start(Cards)
        wire.begin("others: consumers")
        for consumer in CONSUMERS:
            outsider.allocate({fixed(HOST): {"VCPU": 1, "MEMORY_MB": 64}}, consumer)
        wire.begin("next start")
        host.start(Cards)
        wire.begin("an update without a change: nothing")
        host.update()
        wire.begin("start with a change")
        host.start(FewerCards)
        wire.begin("change: an update")
        host.driver.memory_mb = 4096
        host.update()
        wire.begin("start with a reshape")
        host.start(Nested)
        wire.begin("others: a trait")
        outsider.set_traits(fixed(f"{HOST}_card1"), ["CUSTOM_GOLD"])
        wire.begin("after others: an update")
        host.driver.cards = 4
        host.update()
        wire.begin("start of a client that looks")
        client = SchedulerReportClient(adapter, conf=conf)
        context = admin_context()
        for root in find_roots(client, context):
            read_tree(client, context, root)
        list(Auditor(client, context, host.cell, HOST, lambda: host.driver).orphans())
        wire.begin("deletion")
        host.manager.reportclient.delete_resource_provider(
            context, host.cell.compute_nodes.by_host_and_node(HOST, HOST), cascade=True
        )


@pytest.fixture(scope="module")
def wires(tmp_path_factory):
    """Return what was sent with whole trees, and without."""
    found = []
    for whole in (True, False):
        folder = tmp_path_factory.mktemp(f"whole-{whole}")
        with own_service(folder, extensions=False) as adapter:
            wire = Wire(adapter.session.session)
            found.append(wire)
            live(wire, folder, adapter, whole)
    return [wire.steps for wire in found]


def test_others_are_sent_the_same_bytes_and_each_client_asks_once(wires):
    whole, single = wires
    asked = {step: [one for one in sent if is_question(one)] for step, sent in whole.items()}
    assert {
        step: [one for one in sent if not is_question(one)] for step, sent in whole.items()
    } == single
    assert {step: len(questions) for step, questions in asked.items()} == {
        step: int("start" in step) for step in single
    }
    for (method, _, _, body), status in itertools.chain.from_iterable(asked.values()):
        assert (method, body, status) == ("GET", None, 404)


def test_a_host_s_life_has_all_kinds_of_writes(wires):
    _, single = wires
    first, reshape = single["first start"], single["start with a reshape"]
    assert {sent.method for sent, _ in first} == {"GET", "POST", "PUT"}
    assert [sent.path for sent, _ in reshape].count("/placement/reshaper") == 1
    assert single["an update without a change: nothing"] == []
    # it lowers an inventory, so it asks what is used
    assert [sent.method for sent, _ in single["change: an update"]] == ["PUT", "GET"]
    assert {sent.method for sent, _ in single["deletion"]} == {"GET", "DELETE"}
    assert all(status < 500 for sent in single.values() for _, status in sent)


def is_question(exchange):
    return exchange[0].path.startswith(PREFIX)
