"""If-None-Match (RFC 9110, 13.1.2)."""

import pytest

from placement.http import entity_tags


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        (None, []),
        ("", []),
        ('"a"', ["a"]),
        ('W/"a"', ["a"]),
        ('"a", W/"b" ,"c"', ["a", "b", "c"]),
        ('""', [""]),
        ("*", ["*"]),
        (" * ", ["*"]),
        ('*, "a"', ["a"]),
        ("a", []),
        ('"a', []),
        ('"a b"', []),
        ('"a\n"', []),
        ('"é"', ["é"]),
    ],
)
def test_tags_are_found(header, texts):
    assert entity_tags.named(header) == texts


def test_of_many_tags_the_first_ones_count():
    header = ",".join(entity_tags.quoted(str(number)) for number in range(1000))
    assert entity_tags.named(header) == [str(number) for number in range(16)]


@pytest.mark.parametrize(
    ("header", "is_named"),
    [('"a"', True), ('"b", W/"a"', True), ("*", True), ('"b"', False), ("a", False), (None, False)],
)
def test_a_client_names_the_answer_that_it_has(header, is_named):
    assert entity_tags.is_named("a", header) is is_named
