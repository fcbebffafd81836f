"""The allocations of many consumers and providers (extensions.md 2)."""

import uuid

from tests.functional.placement import whole_trees
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import HOLDER, ROOT, UNKNOWN

PATH = "/berth/v1/allocations/query"


def unknown(count):
    return [str(uuid.UUID(int=number)) for number in range(count)]


def test_every_value_is_that_of_the_single_requests(service):
    made, held = whole_trees.fill(service, 5)
    body = {"consumers": [*held, UNKNOWN], "resource_providers": [*made, UNKNOWN]}
    assert service.post(PATH, body).json == {
        "consumers": {one: service.get(f"/allocations/{one}").json for one in held},
        "providers": {
            one: service.get(f"/resource_providers/{one}/allocations").json for one in made
        },
    }


def test_ten_thousand_names_are_found_with_two_statements(filled):
    body = {"consumers": [HOLDER, *unknown(5_000)], "resource_providers": [*unknown(4_998), ROOT]}
    filled.post(PATH, body)
    with statements(filled.database) as sent:
        response = filled.post(PATH, body)
    assert len([one for one in sent if one.startswith("SELECT")]) == 2
    assert list(response.json["consumers"]) == [HOLDER]
    assert list(response.json["providers"]) == [ROOT]


def test_more_names_are_refused(filled):
    for body in (
        {"consumers": unknown(10_001)},
        {"resource_providers": unknown(10_001)},
        {"consumers": unknown(5_000), "resource_providers": unknown(5_001)},
    ):
        response = filled.post(PATH, body)
        assert response.status_code == 400
        (error,) = response.json["errors"]
        assert "A request may name 10000 consumers and resource providers" in error["detail"]
        # the names aren't repeated
        assert len(response.text) < 1000


def test_odd_names_are_refused(filled):
    for name in (*whole_trees.NAMES, "", None, 7, [HOLDER], f"{HOLDER} ", f"urn:uuid:{HOLDER}"):
        for key in ("consumers", "resource_providers"):
            assert filled.post(PATH, {key: [HOLDER, name]}).status_code == 400, name


def test_a_name_given_twice_is_answered_once(filled):
    body = {"consumers": [HOLDER, HOLDER, HOLDER.upper()], "resource_providers": [ROOT] * 3}
    response = filled.post(PATH, body)
    assert (list(response.json["consumers"]), list(response.json["providers"])) == (
        [HOLDER],
        [ROOT],
    )


def test_a_body_that_is_too_long(new_service):
    service = new_service(berth__max_body_size=1024)
    assert service.post(PATH, {"consumers": unknown(100)}).status_code == 413
