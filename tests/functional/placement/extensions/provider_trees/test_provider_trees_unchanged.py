"""When a client is told that it has the answer already, and when it is not (extensions.md 2)."""

import random

import pytest

from placement.cli import online_migrations
from placement.cli.online_migrations import IncompleteOwner
from placement.storage.feed import change_feed, feed_position
from placement.storage.feed.change_feed import Cursor
from tests.functional.placement import whole_trees
from tests.functional.placement.service import Service, statements
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    HOLDER,
    NEW,
    OTHER_HOLDER,
    ROOT,
    holding,
    stock,
)
from tests.functional.placement.whole_trees import ALL, NDJSON, PATH

pytestmark = pytest.mark.spread_over_databases


def tag_of(service, query):
    return service.get(f"{PATH}?{query}").headers["etag"]


def asked_again(service, query, tag):
    """Return the status of a request by a client that has an answer with this tag."""
    return service.get(f"{PATH}?{query}", headers_more={"if-none-match": tag}).status_code


def change_other(service):
    """Change EMPTY and nothing else."""
    body = {"traits": ["COMPUTE_NODE"], "resource_provider_generation": 0}
    service.write("PUT", f"/resource_providers/{EMPTY}/traits", body)


def create(service):
    service.write("POST", "/resource_providers", {"name": "new", "parent_provider_uuid": EMPTY})


def move_away(service):
    move = {"name": "child", "parent_provider_uuid": EMPTY}
    service.write("PUT", f"/resource_providers/{CHILD}", move)


def rename_class(service):
    service.write("PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_B"}, version="1.6")


def claim_child(service):
    body = holding({CHILD: {"VGPU": 1}}, 1, project="other")
    service.write("PUT", f"/allocations/{OTHER_HOLDER}", body)


def release(service):
    assert service.delete(f"/allocations/{HOLDER}").status_code == 204


NAMED = [f"uuid={ROOT}", f"in_tree={CHILD}", f"uuid=in:{CHILD},{NEW}&limit=1&fields={ALL[:-10]}"]
CHANGES = [move_away, rename_class, claim_child, release]


def test_a_change_elsewhere_does_not_matter_to_named_trees(filled):
    tags = {query: tag_of(filled, query) for query in NAMED}
    change_other(filled)
    for query, tag in tags.items():
        response = filled.get(f"{PATH}?{query}", headers_more={"if-none-match": tag})
        assert response.status_code == 304, query
        assert response.headers["etag"] != tag
        # with the newer tag, the next request looks at nothing
        with statements(filled.database) as sent:
            assert asked_again(filled, query, response.headers["etag"]) == 304
        assert len(sent) <= 1


def test_a_change_elsewhere_may_matter_to_other_questions(filled):
    queries = ["", "name=root", f"uuid={ROOT}&fields=consumers", "limit=1"]
    tags = {query: tag_of(filled, query) for query in queries}
    assert [asked_again(filled, query, tag) for query, tag in tags.items()] == [304] * 4
    change_other(filled)
    assert [asked_again(filled, query, tag) for query, tag in tags.items()] == [200] * 4


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_of_a_named_tree_is_seen(filled, change):
    tags = {query: tag_of(filled, query) for query in NAMED}
    change(filled)
    for query, tag in tags.items():
        assert asked_again(filled, query, tag) == 200, query


def test_a_provider_that_appears_is_seen_by_those_who_named_it(filled):
    query = f"uuid={NEW}"
    tag = tag_of(filled, query)
    assert asked_again(filled, query, tag) == 304
    filled.write("POST", "/resource_providers", {"name": "new", "uuid": NEW})
    assert asked_again(filled, query, tag) == 200


def test_whatever_was_changed_the_answer_is_the_present_one(filled):
    """Random changes; after each, a client that believes 304 has what it would get anew."""
    chance = random.Random(3)
    queries = [*NAMED, "", f"fields={ALL}", "resources=VCPU:1", f"uuid={EMPTY}&fields=allocations"]
    has = {}
    for number in range(60):
        query = chance.choice(queries)
        _change(filled, chance, number)
        body, tag = has.get(query, (None, '"none"'))
        response = filled.get(f"{PATH}?{query}", headers_more={"if-none-match": tag})
        if response.status_code == 304:
            anew = filled.get(f"{PATH}?{query}").json
            assert {**anew, "position": ""} == {**body, "position": ""}
            has[query] = body, response.headers["etag"]
        else:
            has[query] = response.json, response.headers["etag"]


def _change(service, chance, number):
    one = chance.choice([ROOT, CHILD, EMPTY])
    path = f"/resource_providers/{one}"
    shown = service.get(path).json
    generation = shown["generation"]
    match chance.randrange(7):
        case 0:
            traits = chance.sample(whole_trees.TRAITS[:2], chance.randrange(3))
            body = {"traits": traits, "resource_provider_generation": generation}
            service.write("PUT", f"{path}/traits", body)
        case 1:
            held = service.get(f"{path}/allocations").json["allocations"]
            if not held:
                service.write("PUT", f"{path}/inventories", stock(generation, VCPU=number + 1))
        case 2:
            consumer = chance.choice([HOLDER, OTHER_HOLDER])
            service.delete(f"/allocations/{consumer}")
        case 3:
            service.write("PUT", path, {"name": f"{shown['name'][:9]} {number}"})
        case 4:
            body = {"name": shown["name"], "parent_provider_uuid": chance.choice([None, EMPTY])}
            service.put(path, body)
        case _:
            pass


def test_rows_that_are_completed_later_are_seen(filled):
    with filled.database.transaction() as connection:
        connection.plain.exec_driver_sql(f"DELETE FROM consumers WHERE uuid = '{HOLDER}'")
        connection.plain.exec_driver_sql(
            f"UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{EMPTY}'"
        )
    queries = [f"uuid={ROOT}&fields=allocations", f"uuid={EMPTY}"]
    tags = {query: tag_of(filled, query) for query in queries}
    online_migrations.run(filled.database, IncompleteOwner("p", "u"), None, 10)
    for query, tag in tags.items():
        assert asked_again(filled, query, tag) == 200, query
    allocations = filled.get(f"{PATH}?{queries[0]}").json["trees"][0]["providers"][0]
    assert HOLDER in allocations["allocations"]


GARBAGE = [
    "",
    '"',
    '""',
    "nothing",
    '"a.b"',
    "W/",
    '"' * 5000,
    " , ,,",
    '"' + "A" * 60_000 + '.x"',
    "\xff\xfe",
    "*, *",
]


def test_what_is_no_tag_of_ours_is_no_answer(filled):
    for garbage in GARBAGE:
        assert asked_again(filled, "", garbage) == 200, garbage[:50]


def test_a_tag_is_found_in_any_list(filled):
    tag = tag_of(filled, "")
    for header in (tag, f"W/{tag}", f'"x", {tag}', f'{tag},"x"', f'"x.y" {tag} rest'):
        assert asked_again(filled, "", header) == 304


def test_any_answer_matches_a_star_except_a_refusal(filled):
    assert asked_again(filled, "", "*") == 304
    assert asked_again(filled, f"in_tree={NEW}", "*") == 304
    for query in ("required=CUSTOM_NOBODY_HAS", "resources=CUSTOM_NONE:1", "limit=0", "fields=x"):
        refused = filled.get(f"{PATH}?{query}")
        asked = filled.get(f"{PATH}?{query}", headers_more={"if-none-match": "*"})
        assert (asked.status_code, refused.status_code) == (400, 400), query
        assert asked.json["errors"][0]["detail"] == refused.json["errors"][0]["detail"]


def test_a_foreign_position_is_no_answer(filled):
    tag = tag_of(filled, "")
    position, _, digest = tag.strip('"').rpartition(".")
    known = feed_position.parsed(position)
    ((lane, (place, mark)),) = known.lanes.items()
    for other in ({}, {lane: (place, mark + 1)}, {lane: (place + 1, mark)}, {lane + 1: (1, 1)}):
        made = f'"{feed_position.written(Cursor(other))}.{digest}"'
        for query in ("", NAMED[0]):
            assert asked_again(filled, query, made) == 200


def test_queries_that_mean_the_same_have_one_tag(filled):
    tag = tag_of(filled, f"uuid=in:{ROOT},{EMPTY}&fields=traits,usages")
    for same in (
        f"fields=usages&fields=traits&uuid=in:{EMPTY},{ROOT}",
        f"uuid=in:{EMPTY},{ROOT},{ROOT}&fields=traits,,usages,traits",
    ):
        assert asked_again(filled, same, tag) == 304
    assert asked_again(filled, f"uuid=in:{ROOT}&fields=traits,usages", tag) == 200


def test_lines_and_one_value_are_two_answers(filled):
    tag = tag_of(filled, "")
    more = {"accept": NDJSON, "if-none-match": tag}
    assert filled.get(PATH, headers_more=more).status_code == 200


def test_a_tag_is_good_for_any_worker(filled):
    tag = tag_of(filled, "")
    assert asked_again(Service(filled.url), "", tag) == 304


@pytest.mark.parametrize("beside", ["auto", "always", "never"])
def test_without_tags_while_others_write(new_service, beside):
    service = new_service(berth__beside_reference=beside)
    old = service.get(PATH).headers.get("etag")
    assert (old is None) == (beside == "always")
    service.database.write(change_feed.record_others)
    response = service.get(PATH, headers_more={"if-none-match": old or '"x"'})
    assert response.status_code == 200
    assert ("etag" in response.headers) == (beside == "never")
    # also in a worker that begins now
    other = Service(service.url, berth__beside_reference=beside)
    response = other.get(PATH)
    assert ("etag" in response.headers) == (beside == "never")
