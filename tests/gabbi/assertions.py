"""Checks that the acceptance files can use in addition to gabbi's own.

`response_document` is the whole JSON body. `response_refusal` is the whole error body.
`response_names` are the names of the providers in a list. :class:`Judged` checks every response
against its schema.
"""

import difflib
import json
import re
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from gabbi.handlers import base

from tests.gabbi.fixtures import NEWEST
from tests.responses import Exchange, complaints

EXPLANATIONS = {
    400: "The server could not comply with the request since it is either malformed or "
    "otherwise incorrect.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    409: "There was a conflict when trying to complete your request.",
}
FIRST_VERSION_WITH_CODES = (1, 23)
REFUSAL_KEYS = {"message", "begins", "matches", "detail", "code", "bare"}


def filled_in(test: Any, value: Any) -> Any:
    """Replace gabbi's `$ENVIRON` and similar in `value`, including the keys of objects."""
    if isinstance(value, dict):
        return {filled_in(test, key): filled_in(test, item) for key, item in value.items()}
    if isinstance(value, list):
        return [filled_in(test, item) for item in value]
    return test.replace_template(value)


def canonical(value: Any) -> str:
    """Return equal JSON for equal documents: 2 and 2.0 differ, the order of keys doesn't matter."""
    return json.dumps(value, sort_keys=True, indent=1)


def check(holds: bool, otherwise: str) -> None:
    """Fail the test with a text, because pytest doesn't rewrite assertions of gabbi's cases."""
    if not holds:
        raise AssertionError(otherwise)


def check_same(expected: Any, got: Any, what: str) -> None:
    """Fail the test unless both are equal."""
    check(expected == got, f"{what}: expected {expected!r}\n{' ' * len(what)}       got {got!r}")


class Document(base.ResponseHandler):
    """`response_document: {...}`: the body is exactly this JSON object, in any order of keys."""

    test_key_suffix = "document"
    test_key_value: dict[str, Any] = {}

    def preprocess(self, test: Any) -> None:
        """Compare the whole body."""
        expected = filled_in(test, test.test_data[self._key])
        wanted, got = canonical(expected), canonical(test.response_data)
        lines = difflib.unified_diff(wanted.split("\n"), got.split("\n"), "expected", "got", n=99)
        check(wanted == got, "\n".join(lines))


class Names(base.ResponseHandler):
    """`response_names: [...]`: a list of providers has exactly these names, in any order."""

    test_key_suffix = "names"
    test_key_value: list[str] = []

    def preprocess(self, test: Any) -> None:
        """Compare the names of all providers of the list."""
        names = [provider["name"] for provider in test.response_data["resource_providers"]]
        check_same(sorted(test.test_data[self._key]), sorted(names), "providers")


class Refusal(base.ResponseHandler):
    """`response_refusal: {...}`: the body is exactly one error object (rest-api.md 1.6, 1.9).

    Its status, title, order of keys and request id must match the response. Keys:

    - `message`: the exact text after the status's standard explanation; or
    - `begins`: how that text begins (for messages that quote a schema); or
    - `matches`: a regular expression for that text; or
    - `detail`: the whole detail, for statuses with another explanation;
    - `code`: the error's code if it isn't `placement.undefined_code`. Below 1.23, and if the
      microversion was rejected, there must be no code;
    - `bare`: true if the header `vary` must be absent; otherwise it must be present.
    """

    test_key_suffix = "refusal"
    test_key_value: dict[str, Any] = {}

    def preprocess(self, test: Any) -> None:
        """Compare the whole error body and the `vary` header."""
        expected = filled_in(test, test.test_data[self._key])
        check(set(expected) <= REFUSAL_KEYS, f"unknown keys: {set(expected) - REFUSAL_KEYS}")
        check(test.response_data is not None, f"not a JSON body: {test.output!r}")
        check_same(["errors"], list(test.response_data), "keys of the body")
        (error,) = test.response_data["errors"]
        frame = self._frame(test, expected)
        check_same(frame, {**error, "detail": ...}, "error")
        check_same(list(frame), list(error), "order of its keys")
        self._check_detail(test, expected, error["detail"])
        vary = None if expected.get("bare") else "openstack-api-version"
        check_same(vary, test.response.get("vary"), "vary")

    def _frame(self, test: Any, expected: dict[str, Any]) -> dict[str, Any]:
        """Return the error without its detail, with keys in the order of rest-api.md 1.6."""
        status = int(test.response["status"])
        frame = {"status": status, "title": HTTPStatus(status).phrase, "detail": ...}
        negotiated = test.response.get("openstack-api-version")
        if negotiated and version(negotiated) >= FIRST_VERSION_WITH_CODES:
            frame["code"] = expected.get("code", "placement.undefined_code")
        frame["request_id"] = test.response["x-openstack-request-id"]
        if not negotiated and status == HTTPStatus.NOT_ACCEPTABLE:
            frame.update(max_version=NEWEST, min_version="1.0")
        return frame

    def _check_detail(self, test: Any, expected: dict[str, Any], detail: str) -> None:
        if "detail" in expected:
            check_same(expected["detail"], detail, "detail")
            return
        start = f"{EXPLANATIONS[int(test.response['status'])]}\n\n "
        check_same(start, detail[: len(start)], "explanation")
        check_same("  ", detail[-2:], "end of the detail")
        message = detail[len(start) : -2]
        if "begins" in expected:
            check_same(expected["begins"], message[: len(expected["begins"])], "message")
        elif "matches" in expected:
            pattern = expected["matches"]
            check(bool(re.fullmatch(pattern, message)), f"{message!r} does not match {pattern!r}")
        else:
            check_same(expected["message"], message, "message")


def version(header: str) -> tuple[int, int]:
    """Read the `openstack-api-version` response header: `placement 1.23` is (1, 23)."""
    major, _, minor = header.removeprefix("placement ").partition(".")
    return int(major), int(minor)


class Judged(base.ResponseHandler):
    """Checks each response against its schema; only needed if the service isn't in this process."""

    test_key_suffix = "judged"
    test_key_value = ""

    def __init__(self, mount: str) -> None:
        super().__init__()
        self._mount = mount

    def __call__(self, test: Any) -> None:
        """Fail the test if the response doesn't match its schema."""
        asked = {
            name.lower(): str(value) for name, value in test.test_data["request_headers"].items()
        }
        answered = dict(test.response)
        body = test.output
        path = urlsplit(test.replace_template(test.test_data["url"])).path
        exchange = Exchange(
            method=test.test_data["method"],
            path=unquote_to_bytes(path).decode("latin-1").removeprefix(self._mount),
            asked=asked,
            status=int(answered.pop("status")),
            headers=answered,
            body=body.encode() if isinstance(body, str) else body,
        )
        found = complaints(exchange)
        check(not found, "\n".join(found))
