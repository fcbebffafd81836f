"""Which differences of two responses matter."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from placement.compare.answers import Reader, ReceivedAnswer
from tests.reference.answers import differences

UUID = "5f1d6c4e-8b0a-4c2d-9e3f-0a1b2c3d4e5f"
MADE = "0a1b2c3d-4e5f-4c2d-9e3f-5f1d6c4e8b0a"
OTHER = "99999999-4e5f-4c2d-9e3f-5f1d6c4e8b0a"


def answer(
    body: Any, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})
) -> ReceivedAnswer:
    content = json.dumps(body).encode()
    return ReceivedAnswer(status, {"content-length": str(len(content)), **headers}, content)


def compared(theirs: ReceivedAnswer, mine: ReceivedAnswer) -> list[str]:
    """Return the differences between services that each generated a uuid."""
    reference = Reader(lambda uuid: {MADE: "${made:1}", UUID: UUID}.get(uuid, "<new uuid>"))
    ours = Reader(lambda uuid: {OTHER: "${made:1}", UUID: UUID}.get(uuid, "<new uuid>"))
    return differences(theirs, mine, reference, ours)


def refusal(text: str) -> dict[str, Any]:
    return {"errors": [{"detail": f"Explained.\n\n {text}  "}]}


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ({"a": {"VCPU": 1, "PCPU": 2}}, {"a": {"PCPU": 2, "VCPU": 1}}),
        ({"traits": ["A", "B"]}, {"traits": ["B", "A"]}),
        (
            {"allocation_requests": [{"allocations": {"A": 1, "C": 1}}, {"allocations": {"B": 1}}]},
            {"allocation_requests": [{"allocations": {"B": 1}}, {"allocations": {"C": 1, "A": 1}}]},
        ),
        ({"uuid": MADE, "href": f"/{MADE}/x"}, {"uuid": OTHER, "href": f"/{OTHER}/x"}),
        ({"request_id": f"req-{MADE}"}, {"request_id": f"req-{UUID}"}),
        (refusal("No such trait B, A"), refusal("No such trait A, B")),
        (refusal("bad group(s) - ['_A', '-']."), refusal("bad group(s) - ['-', '_A'].")),
        (
            refusal("specified in `same_subtree`: ['_A', '1'] not found in ['', '2']."),
            refusal("specified in `same_subtree`: ['1', '_A'] not found in ['2', '']."),
        ),
        (refusal("Update conflict: (sqlite3) x"), refusal("Update conflict: y")),
        (
            refusal(f"Inventory for 'A, B' on resource provider '{UUID}' in use."),
            refusal(f"Inventory for 'B, A' on resource provider '{UUID}' in use."),
        ),
    ],
)
def test_undefined_order_and_generated_values_do_not_matter(theirs: Any, mine: Any) -> None:
    assert compared(answer(theirs), answer(mine)) == []


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("400 Bad Request\n\nExplained.\n\n {}  ", id="plain text"),
        pytest.param("<h1>400</h1>\n Explained.<br /><br />\n{}\n\n\n </body>\n</html>", id="HTML"),
    ],
)
@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ("No such trait B, A", "No such trait A, B"),
        (
            f"Inventory for 'A, B' on resource provider '{UUID}' invalid.",
            f"Inventory for 'B, A' on resource provider '{UUID}' invalid.",
        ),
        (
            f"Inventory for 'A' on resource provider '{UUID}, {MADE}' invalid.",
            f"Inventory for 'A' on resource provider '{OTHER}, {UUID}' invalid.",
        ),
    ],
)
def test_the_order_of_names_in_messages_does_not_matter(form: str, theirs: str, mine: str) -> None:
    texts = [form.format(text) for text in (theirs, mine)]
    if "<" in form:
        texts = [text.replace("'", "&#x27;") for text in texts]

    assert compared(*(ReceivedAnswer(400, {}, text.encode()) for text in texts)) == []


def test_names_in_messages_matter() -> None:
    texts = [f"400 Bad Request\n\nExplained.\n\n No such trait {name}  " for name in ("A", "B")]

    assert len(compared(*(ReceivedAnswer(400, {}, text.encode()) for text in texts))) == 1


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ({"total": 4}, {"total": 4.0}),
        ({"total": 1}, {"total": True}),
        ({"total": 1}, {}),
        ({}, {"total": 1}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"traits": ["A"]}, {"traits": ["A", "A"]}),
        ({"name": 1, "uuid": 2}, {"uuid": 2, "name": 1}),
        ({"uuid": UUID}, {"uuid": OTHER}),
        ({"uuid": MADE}, {"uuid": UUID}),
        (refusal("No such trait A"), refusal("No such trait B")),
        (refusal("Conflict: x"), refusal("Conflict: y")),
    ],
)
def test_everything_else_in_a_body_matters(theirs: Any, mine: Any) -> None:
    assert compared(answer(theirs), answer(mine)) != []


def test_the_status_matters() -> None:
    assert compared(answer({}, 200), answer({}, 201)) == ["status: 200 / 201"]


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ({"vary": "x"}, {}),
        ({}, {"vary": "x"}),
        ({"location": f"http://h/{MADE}"}, {"location": f"http://h/{UUID}"}),
        ({"last-modified": "x"}, {}),
        ({"content-length": "1"}, {"content-length": "2"}),
    ],
)
def test_headers_matter(theirs: dict[str, str], mine: dict[str, str]) -> None:
    assert len(compared(answer({}, headers=theirs), answer({}, headers=mine))) == 1


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ({"server": "x", "date": "x"}, {"connection": "close"}),
        ({"location": f"http://h/{MADE}"}, {"location": f"http://h/{OTHER}"}),
        ({"x-openstack-request-id": f"req-{MADE}"}, {"x-openstack-request-id": f"req-{UUID}"}),
    ],
)
def test_headers_of_the_server_and_generated_headers_do_not_matter(
    theirs: dict[str, str], mine: dict[str, str]
) -> None:
    assert compared(answer({}, headers=theirs), answer({}, headers=mine)) == []
