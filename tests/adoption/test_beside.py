"""Searches of Berth see at once what OpenStack Placement writes to the same database.

The page upgrade.rst has a table of all writes; each of its lines is tried here.
"""

import json
import re
import threading

import pytest

from tests.concurrency import growing
from tests.concurrency.growing import OURS, THEIRS, Claiming, Restocking, Searching
from tests.faults.running import Client, eventually
from tests.functional.placement.small_cloud import holding, numbered
from tests.page_code import text_of
from tests.reference.script import Request

ONE, TWO, CHILD, GRANDCHILD = (numbered("a", number) for number in range(1, 5))
SIDE = numbered("a", 8)
HELD, RELEASED, NEW, MORE = (numbered("c", number) for number in range(1, 5))
FIRST, SECOND = (numbered("b", number) for number in (1, 2))
SEARCHES = (
    "resources=VCPU:1",
    "resources=VCPU:7",
    "resources=DISK_GB:5",
    "resources=DISK_GB:5&required=CUSTOM_FAST",
    "resources=DISK_GB:5&required=CUSTOM_THEIRS",
    # without a suffix, the reference fails on PostgreSQL
    "resources1=DISK_GB:5&required1=!CUSTOM_FAST",
    "resources=CUSTOM_GOLD:1",
    "resources=CUSTOM_SILVER:1",
    f"resources=VCPU:1&member_of={FIRST}",
    f"resources=VCPU:1&member_of={SECOND}",
    f"resources=DISK_GB:5&in_tree={ONE}",
    f"resources=DISK_GB:5&in_tree={TWO}",
)
SEEN, AUDITED = "the next search", "the next audit"


class Writer:
    """Sends requests to a service, each at the provider's current generation."""

    def __init__(self, service):
        self.service = service

    def write(self, method, path, body=None, version="1.39"):
        self.service.do(method, path, body, version)

    def at_generation(self, method, uuid, path, **body):
        generation = self.service.get(f"/resource_providers/{uuid}")["generation"]
        body["resource_provider_generation"] = generation
        self.write(method, f"/resource_providers/{uuid}{path}", body)

    def stock(self, uuid, **totals):
        inventories = {name: {"total": total} for name, total in totals.items()}
        self.at_generation("PUT", uuid, "/inventories", inventories=inventories)

    def traits(self, uuid, *names):
        self.at_generation("PUT", uuid, "/traits", traits=list(names))


def build(writer):
    for name in ("CUSTOM_GOLD", "CUSTOM_UNUSED"):
        writer.write("PUT", f"/resource_classes/{name}")
    for name in ("CUSTOM_FAST", "CUSTOM_UNUSED"):
        writer.write("PUT", f"/traits/{name}")
    for name, uuid, parent in (
        ("one", ONE, None),
        ("two", TWO, None),
        ("child", CHILD, ONE),
        ("grandchild", GRANDCHILD, CHILD),
    ):
        body = {"uuid": uuid, "name": name} | ({"parent_provider_uuid": parent} if parent else {})
        writer.write("POST", "/resource_providers", body)
    writer.stock(ONE, VCPU=8)
    writer.stock(TWO, VCPU=8, DISK_GB=50, CUSTOM_GOLD=2)
    writer.stock(CHILD, DISK_GB=50)
    writer.stock(GRANDCHILD, DISK_GB=20)
    writer.traits(GRANDCHILD, "CUSTOM_FAST")
    writer.at_generation("PUT", TWO, "/aggregates", aggregates=[FIRST])
    writer.write("PUT", f"/allocations/{HELD}", holding({ONE: {"VCPU": 6}}))
    writer.write("PUT", f"/allocations/{RELEASED}", holding({TWO: {"VCPU": 6}}))


def moved(writer, uuid, name, parent):
    body = {"name": name, "parent_provider_uuid": parent}
    writer.write("PUT", f"/resource_providers/{uuid}", body)


def reshaped(writer):
    body = {
        "inventories": {
            uuid: {
                "inventories": {name: {"total": total} for name, total in stock.items()},
                "resource_provider_generation": writer.service.get(f"/resource_providers/{uuid}")[
                    "generation"
                ],
            }
            for uuid, stock in {ONE: {}, CHILD: {"VCPU": 8, "DISK_GB": 50}}.items()
        },
        "allocations": {HELD: holding({CHILD: {"VCPU": 6}}, 1)},
    }
    writer.write("POST", "/reshaper", body)


#: by the table's line: what does it, in the order of the table
WRITES = {
    "POST /resource_providers": lambda w: w.write(
        "POST",
        "/resource_providers",
        {"uuid": numbered("a", 9), "name": "nine", "parent_provider_uuid": ONE},
    ),
    "PUT /resource_providers/{uuid}, another parent": lambda w: moved(w, CHILD, "child", TWO),
    "DELETE /resource_providers/{uuid}": lambda w: w.write(
        "DELETE", f"/resource_providers/{GRANDCHILD}"
    ),
    "PUT …/inventories": lambda w: w.stock(CHILD, DISK_GB=4),
    "POST …/inventories": lambda w: w.write(
        "POST",
        f"/resource_providers/{CHILD}/inventories",
        {"resource_class": "CUSTOM_GOLD", "total": 2},
    ),
    "PUT …/inventories/{class}": lambda w: w.at_generation(
        "PUT", CHILD, "/inventories/DISK_GB", total=4
    ),
    "DELETE …/inventories/{class}": lambda w: w.write(
        "DELETE", f"/resource_providers/{CHILD}/inventories/DISK_GB"
    ),
    "DELETE …/inventories": lambda w: w.write("DELETE", f"/resource_providers/{CHILD}/inventories"),
    "PUT …/traits": lambda w: w.traits(CHILD, "CUSTOM_FAST"),
    "DELETE …/traits": lambda w: w.write("DELETE", f"/resource_providers/{GRANDCHILD}/traits"),
    "PUT …/aggregates, from version 1.19": lambda w: w.at_generation(
        "PUT", TWO, "/aggregates", aggregates=[SECOND]
    ),
    "PUT /allocations/{uuid}, also without allocations": lambda w: (
        w.write("PUT", f"/allocations/{NEW}", holding({TWO: {"VCPU": 2}})),
        w.write("PUT", f"/allocations/{HELD}", holding({}, 1)),
    ),
    "POST /allocations": lambda w: w.write(
        "POST",
        "/allocations",
        {HELD: holding({}, 1), NEW: holding({TWO: {"VCPU": 2}})},
    ),
    "POST /reshaper": reshaped,
    "POST and PUT /resource_classes, a new class": lambda w: w.write(
        "PUT", "/resource_classes/CUSTOM_SILVER"
    ),
    "DELETE /resource_classes/{name}": lambda w: w.write(
        "DELETE", "/resource_classes/CUSTOM_UNUSED"
    ),
    "PUT /traits/{name}": lambda w: w.write("PUT", "/traits/CUSTOM_THEIRS"),
    "DELETE /traits/{name}": lambda w: w.write("DELETE", "/traits/CUSTOM_UNUSED"),
    "DELETE /allocations/{uuid}": lambda w: w.write("DELETE", f"/allocations/{RELEASED}"),
    "PUT …/aggregates, before version 1.19": lambda w: w.write(
        "PUT", f"/resource_providers/{ONE}/aggregates", [FIRST], "1.18"
    ),
    "PUT /resource_classes/{name}, another name (before version 1.7)": lambda w: w.write(
        "PUT", "/resource_classes/CUSTOM_GOLD", {"name": "CUSTOM_SILVER"}, "1.6"
    ),
}
#: what the search for the name of an unused class or trait shows
UNUSED = ("resources=CUSTOM_UNUSED:1", "resources=VCPU:1&required=CUSTOM_UNUSED")


def the_table():
    """Return line -> what sees it, from the page."""
    lines = re.findall(
        rf"^   \* - (.+)\n     - ({SEEN}|{AUDITED})$", text_of("upgrade.rst"), re.MULTILINE
    )
    return {line.replace("``", ""): seen for line, seen in lines}


def searched(service):
    """Return what the searches answer, whatever the order."""
    shown = {}
    for query in (*SEARCHES, *UNUSED):
        answer = service.send(Request("GET", f"/allocation_candidates?{query}", None, "1.39"))
        said = json.loads(answer.body)
        if answer.status == 200:
            said["allocation_requests"].sort(
                key=lambda request: json.dumps(request, sort_keys=True)
            )
            for summary in said["provider_summaries"].values():
                summary["traits"].sort()
        shown[query] = said if answer.status == 200 else answer.status
    return shown


def test_the_page_lists_the_writes_that_are_tried():
    assert list(the_table()) == list(WRITES)


@pytest.mark.parametrize("line", WRITES)
def test_what_a_search_sees_of_this_write_is_as_the_page_says(line, new_database, reference, ours):
    url = new_database(empty=True)
    with reference.serving(url, sync=True) as theirs:
        build(writer := Writer(theirs))
        ours.sync(url)
        # without audits, only a look can show it
        options = {"BERTH__BESIDE_REFERENCE": "always", "BERTH__SNAPSHOT_AUDIT_INTERVAL": "0"}
        with ours.serving(url, **options) as mine:
            before = searched(mine)
            assert before == searched(theirs)
            WRITES[line](writer)
            after = searched(theirs)
            if the_table()[line] == SEEN:
                assert searched(mine) == after
            else:
                assert after != before
                assert searched(mine) == before


def exchange_parents(writer):
    moved(writer, SIDE, "side", CHILD)
    moved(writer, GRANDCHILD, "grandchild", TWO)


def replace_a_class(writer):
    writer.write("DELETE", "/resource_classes/CUSTOM_UNUSED")
    writer.write("PUT", "/resource_classes/CUSTOM_SILVER")


@pytest.mark.parametrize(
    ("words", "write"),
    [("two exchanged parents", exchange_parents), ("a new resource class, if", replace_a_class)],
)
def test_what_else_waits_for_the_audit_is_on_the_page(words, write, new_database, reference, ours):
    assert f"* {words}" in text_of("upgrade.rst").partition("These also wait for the audit:")[2]
    url = new_database(empty=True)
    with reference.serving(url, sync=True) as theirs:
        build(writer := Writer(theirs))
        side = {"uuid": SIDE, "name": "side", "parent_provider_uuid": TWO}
        writer.write("POST", "/resource_providers", side)
        writer.stock(SIDE, DISK_GB=9)
        ours.sync(url)
        options = {"BERTH__BESIDE_REFERENCE": "always", "BERTH__SNAPSHOT_AUDIT_INTERVAL": "0"}
        with ours.serving(url, **options) as mine:
            before = searched(mine)
            write(writer)
            assert searched(theirs) != before
            assert searched(mine) == before
            # the next write that a search sees shows it, too
            writer.stock(TWO, VCPU=9)
            assert searched(mine) == searched(theirs)


#: how many steps each client of the test under load takes at least
STEPS = 8


def test_no_search_is_older_than_a_write_that_was_answered(
    new_database, reference, ours, database_kind
):
    """Both services serve and write; nothing but the default configuration is set."""
    url = new_database(empty=True)
    # on SQLite the reference answers 500 while another process writes
    turn = threading.Lock() if database_kind == "sqlite" else None
    with reference.serving(url, sync=True) as theirs:
        growing.build(Client(theirs.port))
        ours.sync(url)
        with ours.serving(url) as mine:
            beside, berth = (growing.one(Client(service.port)) for service in (theirs, mine))
            # claims of ours, one after the other, would outdate each generation that is restocked
            same_provider = turn or threading.Lock()
            writers = [Restocking(beside, same_provider), Claiming(beside, turn, THEIRS)]
            writers.append(Claiming(berth, same_provider, OURS))
            writers[-1].pause = 0.05
            searching = [Searching(berth, turn, writers) for _ in range(2)]
            clients = [*writers, *searching]
            for client in clients:
                client.start()
            eventually(
                lambda: all(each.count >= STEPS or each.failure for each in clients),
                lambda: [(type(each).__name__, each.count, each.failure) for each in clients],
            )
            for client in clients:
                client.ended.set()
            for client in clients:
                client.join()
    assert [client.failure for client in clients if client.failure] == []
    assert {fault for client in searching for fault in client.wrong} == set()
