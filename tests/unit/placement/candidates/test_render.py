"""Long answers as text: tables of bytes, and what can't be a table."""

import json
import random
import uuid

import pytest

from placement.candidates import render
from placement.candidates.request import CandidateRequest, Generation, Group
from placement.candidates.search import search
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

HOSTS = 40
ASKED = CandidateRequest(
    (Group("", {"VCPU": 1, "DISK_GB": 2}), Group("_N", {"VGPU": 1})), isolate=False
)


def name(number):
    return str(uuid.UUID(int=number + 1))


def hosts(named=name):
    """Trees of a host with two devices."""
    providers = {}
    for number in range(HOSTS):
        root = named(number)
        providers[root] = host(VCPU=4, DISK_GB=9)
        for device in (1, 2):
            providers[name(1000 * device + number)] = child(root, VGPU=1)
    return providers


def answer(found, version):
    return json.loads(b"".join(render.body(found, version)))


def in_any_order(body):
    candidates = sorted(json.dumps(c, sort_keys=True) for c in body["allocation_requests"])
    return candidates, body["provider_summaries"]


@pytest.mark.parametrize("minor", [10, 12, 27, 29, 34, 39])
@pytest.mark.parametrize("seed", [None, "req-1"])
def test_tables_say_what_single_candidates_say(clouds, monkeypatch, minor, seed):
    found = search(clouds.snapshot(hosts()), ASKED, endless(), Generation(seed=seed))
    assert len(found) == 2 * HOSTS

    as_tables = answer(found, (1, minor))
    monkeypatch.setattr(render, "_FEW", 10**9)

    assert in_any_order(answer(found, (1, minor))) == in_any_order(as_tables)


def test_a_uuid_of_unusual_length_appears_as_it_is(clouds):
    odd = "0123456789abcdef0123456789abcdef"

    found = search(clouds.snapshot(hosts(lambda n: odd if n == 7 else name(n))), ASKED, endless())

    users = [set(c["allocations"]) for c in answer(found, (1, 39))["allocation_requests"]]
    assert sum(odd in providers for providers in users) == 2
    assert len(users) == 2 * HOSTS


def test_what_was_shuffled_has_no_order_of_its_own(clouds):
    snapshot = clouds.snapshot(hosts())
    found = search(snapshot, ASKED, endless(), Generation(seed="req-1"))
    again = search(snapshot, ASKED, endless(), Generation(seed="req-1"))

    first = answer(found, (1, 39))["allocation_requests"]

    assert answer(again, (1, 39))["allocation_requests"] == first
    in_order = [next(iter(c["allocations"])) for c in first]
    assert in_order != sorted(in_order)


@pytest.mark.parametrize("large", [1, 40, 300, 10**9])
def test_pieces_make_one_text_however_they_are_cut(monkeypatch, large):
    monkeypatch.setattr(render, "_LARGE", large)
    source = random.Random(7)
    texts = [b"x" * source.choice([3, 50, 400]) for _ in range(60)]

    assert b"".join(render._separated(texts)) == b", ".join(texts)


def test_long_pieces_are_not_copied(monkeypatch):
    monkeypatch.setattr(render, "_LARGE", 40)
    long = b"x" * 50

    assert any(piece is long for piece in render._separated([b"a", b"b", long, b"c"]))
