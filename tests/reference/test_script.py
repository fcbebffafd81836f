"""Requests of scripts: placeholders, curl commands, script files."""

import shlex

from tests.reference.script import Request, consumer_generation_of, generation_of

UUID = "5f1d6c4e-8b0a-4c2d-9e3f-0a1b2c3d4e5f"


class Facts:
    """A service on which a provider has generation 4 and no consumer exists."""

    made = {"7": UUID}

    def generation(self, kind: str, uuid: str) -> int | None:
        return 4 if (kind, uuid) == ("generation", UUID) else None


def test_generations_are_numbers_and_may_be_wrong_on_purpose() -> None:
    body = {"now": generation_of(UUID), "off": [generation_of(UUID, 2)], "key": "text"}

    filled = Request("PUT", "/", body).filled_in(Facts())

    assert filled.body == {"now": 4, "off": [6], "key": "text"}


def test_a_consumer_that_does_not_exist_has_the_generation_null() -> None:
    filled = Request("PUT", "/", {"g": consumer_generation_of("x")}).filled_in(Facts())

    assert filled.body == {"g": None}


def test_generated_values_are_filled_in_everywhere() -> None:
    body = {"${made:7}": generation_of("${made:7}")}

    filled = Request("PUT", "/resource_providers/${made:7}?in_tree=${made:7}", body).filled_in(
        Facts()
    )

    assert filled.path == f"/resource_providers/{UUID}?in_tree={UUID}"
    assert filled.body == {UUID: 4}


def test_paths_are_encoded_once() -> None:
    assert Request("GET", "/traits/A\n%0A").filled_in(Facts()).path == "/traits/A%0A%0A"


def test_a_script_file_keeps_everything() -> None:
    request = Request("PUT", "/x?a=b", {"a": [1, 2.0, None]}, "1.5", {"Accept": None}, "3")

    assert Request.from_line(request.as_line()) == request
    assert Request.from_line(Request("GET", "/").as_line()) == Request("GET", "/")


def test_a_curl_command_says_all_that_is_sent() -> None:
    request = Request("PUT", "/x?a='b'", {"a": "it's"}, "1.5", {"Accept": "", "X-Roles": None})

    words = shlex.split(request.as_curl())

    assert words == [
        *["curl", "-sS", "-X", "PUT"],
        *["-H", "X-Auth-Token: admin"],
        *["-H", "OpenStack-API-Version: placement 1.5"],
        *["-H", "Content-Type: application/json"],
        *["-H", "Accept;"],
        *["--data-binary", '{"a": "it\'s"}'],
        "$URL/x?a='b'",
    ]
