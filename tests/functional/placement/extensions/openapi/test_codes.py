"""The document says which codes the errors of each operation have, since when, and why."""

import re

import pytest

from placement.app import api
from placement.extensions.openapi.document import document
from placement.microversions import HISTORY, NEWEST, name
from tests.document import of_version, resolved
from tests.functional.placement.extensions.openapi.test_document import MONITORED

_TOLD = re.compile(
    r"^\* `(?P<code>[a-z_.]+)`(?:, since (?P<since>1\.\d+))?: (?P<meaning>.*)$", re.M
)
PROVIDER = "/resource_providers/{uuid}"
#: what any conflict may be
ANY_CONFLICT = {"placement.concurrent_update", "placement.undefined_code"}


def refusals(found):
    """Yield path, method, status and the answer of each refusal."""
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    yield path, method, status, answer


def error_of(version, answer):
    """Return the schema of the error in an answer."""
    body = resolved(version, answer)["content"]["application/json"]["schema"]
    schema = resolved(version, body)
    # the other form is that of keystonemiddleware
    schema = resolved(version, schema.get("anyOf", [schema])[0])
    return schema["properties"]["errors"]["items"]["properties"]


def codes(version, path, method, status):
    """Return the codes that the document of a version allows."""
    answer = of_version(version)["paths"][path][method]["responses"][status]
    return set(error_of(version, answer)["code"]["enum"])


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("put", f"{PROVIDER}/traits", set()),
        ("put", f"{PROVIDER}/inventories", {"placement.inventory.inuse"}),
        ("post", "/resource_providers", {"placement.duplicate_name"}),
        (
            "delete",
            PROVIDER,
            {
                "placement.resource_provider.inuse",
                "placement.resource_provider.cannot_delete_parent",
            },
        ),
        ("post", "/berth/v1/claims", {"berth.no_candidate"}),
    ],
)
def test_each_operation_has_codes_of_its_own(method, path, more):
    assert codes(NEWEST, path, method, "409") == ANY_CONFLICT | more


def test_codes_come_with_the_version_that_has_their_cause():
    def of_query(version):
        return codes(version, "/allocation_candidates", "get", "400") - {"placement.undefined_code"}

    assert of_query((1, 34)) == set()
    root_required = {"placement.query.bad_value", "placement.query.duplicate_key"}
    assert of_query((1, 35)) == root_required
    assert of_query((1, 36)) == root_required | {"placement.query.missing_value"}


@pytest.mark.parametrize("path", ["capacity", "capacity/evacuate", "plans/room", "plans/survives"])
def test_queries_within_a_body_have_the_codes_of_queries(path):
    of_query = {
        f"placement.query.{what}" for what in ("bad_value", "duplicate_key", "missing_value")
    }
    assert codes(NEWEST, f"/berth/v1/{path}", "post", "400") >= of_query


def test_errors_have_no_code_before_1_23():
    answers = of_version((1, 22))["paths"]["/resource_providers"]["post"]["responses"]
    assert "code" not in error_of((1, 22), answers["409"])
    assert "placement." not in resolved((1, 22), answers["409"])["description"]


def test_no_standard_operation_has_a_code_that_only_extensions_have():
    found = document(api(extensions=False), NEWEST)
    assert "berth.no_candidate" not in str(found)
    assert "berth.too_many_waits" not in str(found)


@pytest.mark.parametrize("version", [*HISTORY, None], ids=lambda v: "all" if v is None else name(v))
def test_each_code_is_told_with_what_it_means(version):
    found = of_version(version)
    told = 0
    for answer in found["components"]["responses"].values():
        for match in _TOLD.finditer(answer["description"]):
            told += 1
            assert re.fullmatch(r"[A-Z][^{}]*\.", match["meaning"]), match[0]
        assert answer["description"].count("\n* ") == len(_TOLD.findall(answer["description"]))
    assert told


@pytest.mark.parametrize("version", [(1, 23), (1, 35), (1, 39)], ids=name)
def test_the_text_tells_the_codes_that_the_schema_allows(version):
    for path, method, status, answer in refusals(of_version(version)):
        text = resolved(version, answer)["description"]
        if status in ("401", "406") or path in MONITORED:
            continue
        allowed = set(error_of(version, answer)["code"]["enum"]) - {"placement.undefined_code"}
        assert {match["code"] for match in _TOLD.finditer(text)} == allowed, (path, method, status)


def test_the_document_of_all_versions_says_since_when_errors_have_codes():
    found = of_version(None)

    def told(path, method, status):
        answer = found["paths"][path][method]["responses"][status]
        text = found["components"]["responses"][answer["$ref"].rpartition("/")[2]]["description"]
        return text.partition("\n")[0], {m["code"]: m["since"] for m in _TOLD.finditer(text)}

    assert told("/allocation_candidates", "get", "400") == (
        "Bad Request. Codes of its errors, since 1.23:",
        {
            "placement.query.bad_value": "1.35",
            "placement.query.duplicate_key": "1.35",
            "placement.query.missing_value": "1.36",
        },
    )
    begins, _ = told(PROVIDER, "delete", "409")
    assert begins == "Conflict. Codes of its errors, since 1.23:"
    begins, since = told("/berth/v1/claims", "post", "409")
    assert begins == "Conflict. Codes of its errors:"
    assert set(since.values()) == {None}
