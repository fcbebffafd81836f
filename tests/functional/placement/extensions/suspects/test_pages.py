"""GET /berth/v1/suspects: pages, markers, and who may ask (extensions.md 12)."""

import contextlib
import shlex

import pytest

from placement.extensions.suspects import schema as schemas
from placement.extensions.suspects.rules import KINDS
from tests.functional.placement.extensions.suspects.clouds import (
    PATH,
    age,
    hold,
    hold_untyped,
    provider,
    release,
    restock,
    suspects,
)
from tests.functional.placement.service import Service, statements
from tests.functional.placement.small_cloud import expect, numbered


@pytest.fixture
def suspicious(new_service):
    """Return a service in whose cloud there is something of every kind, of most kinds twice."""
    return new_service(content=suspicious_cloud_at, berth__suspects_grace=0)


def suspicious_cloud_at(url):
    """Write that cloud into an empty database: tests get copies of it."""
    with contextlib.closing(Service(url)) as service:
        make_suspicious(service)


def make_suspicious(service):
    hosts = [provider(service, n, VCPU=8, MEMORY_MB=8, DISK_GB=8) for n in (1, 2)]
    for number in (1, 2, 3):
        hold(service, number, {uuid: {"VCPU": 1} for uuid in hosts})
    for number in (4, 5):
        hold_untyped(service, number, {hosts[0]: {"MEMORY_MB": 3, "DISK_GB": 3}})
    for uuid in hosts:
        restock(service, uuid, VCPU=1, MEMORY_MB=5, DISK_GB=5)
    for number in (6, 7):
        provider(service, number)
    for number in (11, 12):
        traits = ["HW_PCI_ONE_TIME_USE"]
        uuid = provider(service, number, f"host1_0000:81:00.{number - 10}", hosts[0], traits)
        restock(service, uuid, PGPU={"total": 1, "reserved": 1})
    for number in (21, 22):
        provider(service, number, f"host1_pci_0000_81_00_{number - 20}", hosts[0])
    for number in (31, 32):
        provider(service, number, f"host{number - 30}.example.org", VCPU=100)
    # a suspect of a time to come, by a clock that was set back meanwhile, is told with that of now
    age(service, hours=1)


COUNTS = {
    "two_roots": 3,
    "consumer_type_unknown": 2,
    "over_capacity": 4,
    "empty_root": 2,
    "untouched": 0,
    "duplicate_device": 2,
    "burned_device": 2,
    "alike_names": 2,
}


def walked(service, query, meanwhile=lambda page: None):
    """Return all pages of a list; `meanwhile` is called after each with its answer."""
    pages, marker = [], ""
    while True:
        body = suspects(service, f"{query}{marker}")
        pages.append(body["suspects"])
        meanwhile(body)
        if "marker" not in body:
            return pages
        before, marker = marker, f"&marker={body['marker']}"
        assert marker != before, "the list goes on where it was"


def key(suspect):
    uuid = (suspect["provider"] or {}).get("uuid")
    return suspect["kind"], uuid, suspect["consumer"], suspect["resource_class"]


def test_all_kinds_are_told_in_their_order_and_counted(suspicious):
    body = suspects(suspicious)
    assert body["kinds"] == COUNTS
    assert "marker" not in body
    assert [one["kind"] for one in body["suspects"]] == [
        kind for kind in KINDS for _ in range(COUNTS[kind])
    ]


@pytest.mark.spread_over_databases
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 16, 17, 18])
def test_pages_of_any_size_have_every_suspect_once(suspicious, limit):
    whole = suspects(suspicious)["suspects"]
    pages = walked(suspicious, f"limit={limit}")
    assert [one for page in pages for one in page] == whole
    assert {len(page) for page in pages[:-1]} <= {limit}
    assert 0 < len(pages[-1]) <= limit


def test_pages_of_one_kind_have_that_kind_alone(suspicious):
    for kind, count in COUNTS.items():
        pages = walked(suspicious, f"kind={kind}&limit=1")
        found = [one for page in pages for one in page]
        assert len(found) == count
        assert {one["kind"] for one in found} <= {kind}


def test_another_service_goes_on_where_the_first_one_ended(suspicious):
    whole = suspects(suspicious)["suspects"]
    others = [type(suspicious)(suspicious.url, berth__suspects_grace=0) for _ in range(2)]
    found, marker = [], ""
    for number in range(len(whole)):
        body = suspects(others[number % 2], f"limit=1{marker}")
        found += body["suspects"]
        marker = f"&marker={body.get('marker')}"
    assert found == whole


def test_a_suspect_that_vanished_still_marks_its_place(suspicious):
    whole = [key(one) for one in suspects(suspicious)["suspects"]]
    first = suspects(suspicious, "limit=1")
    release(suspicious, first["suspects"][0]["consumer"])
    rest = suspects(suspicious, f"marker={first['marker']}")["suspects"]
    assert [key(one) for one in rest] == whole[1:]
    # and so do a provider, and a consumer, that nobody has had yet
    assert suspects(suspicious, "marker=alike_names.2147483647.0")["suspects"] == []
    rest = suspects(suspicious, "marker=consumer_type_unknown.2147483647.0")["suspects"]
    assert [key(one) for one in rest] == whole[5:]
    assert suspects(suspicious, "marker=two_roots.0.0")["suspects"][0]["kind"] == "two_roots"


def test_what_goes_between_two_pages_costs_no_other_suspect(suspicious):
    # the instances that go take with them that their hosts are over capacity
    whole = [
        key(one)
        for one in suspects(suspicious)["suspects"]
        if (one["kind"], one["resource_class"]) != ("over_capacity", "VCPU")
    ]

    def forget(body):
        for one in body["suspects"]:
            if one["kind"] == "two_roots":
                release(suspicious, one["consumer"])

    pages = walked(suspicious, "limit=1", forget)
    left = [key(one) for page in pages for one in page]
    assert [one for one in left if one[3] != "VCPU"] == whole


def test_a_limit_always_applies(suspicious, monkeypatch):
    monkeypatch.setattr(schemas, "LIMIT", 3)
    monkeypatch.setattr(schemas, "MOST", 5)
    assert len(suspects(suspicious)["suspects"]) == 3
    assert len(suspects(suspicious, "limit=999999999")["suspects"]) == 5
    assert suspects(suspicious, "limit=999999999")["marker"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("kind=everything", "'everything' is not one of"),
        ("kind=", "'' is not one of"),
        ("kind=two_roots,over_capacity", "is not one of"),
        ("kind=two_roots&kind=two_roots", "may be specified only once"),
        ("limit=0", "does not match"),
        ("limit=-1", "does not match"),
        ("limit=1000000000", "does not match"),
        ("limit=1%0A", "does not match"),
        ("limit=%D9%A1", "does not match"),
        ("limit=1&limit=2", "may be specified only once"),
        ("marker=", "no marker that the service gave out"),
        ("marker=two_roots.1.0&marker=two_roots.1.0", "may be specified only once"),
        ("marker=two_roots.99999999999999999999.0", "no marker"),
        ("marker=%00", "marker has the character NUL, which no text may have"),
        ("marker=two_roots.1.0%27%20OR%201=1", "no marker"),
        ("kind=over_capacity&marker=two_roots.1.0", "this marker is of a list with two_roots"),
        ("kind=%FF", "Invalid query string parameters"),
        ("sort=name", "Additional properties are not allowed"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(unchanging, query, text):
    (error,) = suspects(unchanging, query, 400)["errors"]
    assert text in error["detail"]


def test_names_are_told_as_they_are(new_service):
    service = new_service(berth__suspects_grace=0)
    names = ["<script>alert(1)</script>", "'; DROP TABLE allocations; --", "\u202eevil", "%s {0}"]
    for number, name in enumerate(names):
        provider(service, number, name)
    provider(service, 9, "n" * 200)
    found = suspects(service, "kind=empty_root")["suspects"]
    assert [one["provider"]["name"] for one in found] == [*names, "n" * 200]
    assert all(one["provider"]["name"] in one["detail"] for one in found)


def test_a_name_in_a_command_is_one_word_of_the_shell(new_service):
    service = new_service(berth__suspects_untouched_days=1)
    hostile = "host1.$(reboot).`id`;'\"x"
    provider(service, 1, "HOST1")
    provider(service, 2, hostile)
    age(service, days=2)
    told = {one["kind"]: one["detail"] for one in suspects(service)["suspects"]}
    for kind, option in (("alike_names", "--as"), ("untouched", "--host")):
        assert f"{option} {shlex.quote(hostile)}" in told[kind]


def test_the_answer_costs_as_many_statements_for_many_suspects_as_for_few(suspicious):
    def cost():
        suspects(suspicious)
        with statements(suspicious.database) as found:
            suspects(suspicious)
        return len(found)

    few = cost()
    for number in range(100, 106):
        uuid = provider(suspicious, number, VCPU=3, MEMORY_MB=1)
        hold_untyped(suspicious, number, {uuid: {"VCPU": 3}})
        hold(suspicious, number + 100, {uuid: {"MEMORY_MB": 1}, numbered("a", 31): {"VCPU": 1}})
        restock(suspicious, uuid, VCPU=1, MEMORY_MB=1)
        provider(suspicious, number + 100, f"host{number}.example.org")
    assert cost() == few


def test_nothing_is_changed_by_looking(suspicious):
    before = suspicious.tables()
    walked(suspicious, "limit=2")
    assert suspicious.tables() == before


@pytest.mark.spread_over_databases
@pytest.mark.parametrize("version", ["1.0", "1.27", "1.38", "latest", None])
def test_every_microversion_gets_the_same(suspicious, version):
    headers = {"x-auth-token": "admin"}
    if version is not None:
        headers["openstack-api-version"] = f"placement {version}"
    answer = expect(suspicious.client.get(PATH, headers=headers), 200)
    assert answer.json == suspects(suspicious)


def test_a_reader_without_the_right_gets_nothing(unchanging):
    for headers, status in (
        ({}, 401),
        ({"x-auth-token": "nobody"}, 403),
        ({"x-auth-token": "user:project", "x-roles": "reader,member"}, 403),
        ({"x-auth-token": "admin", "openstack-api-version": "placement 9.9"}, 406),
        ({"x-auth-token": "admin", "accept": "text/plain"}, 406),
    ):
        assert unchanging.client.get(PATH, headers=headers).status_code == status, headers
    for method in ("POST", "PUT", "DELETE"):
        assert unchanging.request(method, PATH, {}).status_code == 405


def test_without_extensions_there_is_no_such_thing(new_service):
    assert new_service(berth__extensions=False).get(PATH).status_code == 404


def test_what_the_snapshot_knew_and_is_gone_is_left_out(suspicious):
    looking = suspicious.running.searching.parts.suspects
    snapshot = looking._current()
    looking._current = lambda: snapshot
    expect(suspicious.delete(f"/resource_providers/{numbered('a', 7)}"), 204)
    found = suspects(suspicious, "kind=empty_root")["suspects"]
    assert [one["provider"]["uuid"] for one in found] == [numbered("a", 6)]
