"""The document is valid OpenAPI, says what the tables say, and says nothing twice."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from placement.app import api
from placement.extensions import openapi
from placement.extensions.openapi import examples, parameters
from placement.extensions.openapi.document import document
from placement.extensions.openapi.forms import Forms, shared
from placement.extensions.openapi.texts import Texts
from placement.microversions import HISTORY, NEWEST, name
from placement.routes import ROUTES
from placement.schemas.json_schema import STRING, Schema, closed_object
from tests.document import of_version
from tests.functional.placement.extensions.openapi import scenario

#: the versions at which much changed
VERSIONS = [(1, 0), (1, 7), (1, 12), (1, 20), (1, 28), (1, 34), (1, 38), (1, 39)]
#: to validate one takes a second: an ordinary run has the newest, and that of all versions, in
#: which `test_marks.py` finds what each version's has
VALIDATED = [
    one if one == NEWEST else pytest.param(one, marks=pytest.mark.thorough) for one in VERSIONS
]
#: what has no microversions; every answer of the tests is judged by what is said of it
MONITORED = ("/metrics", "/metrics/providers", "/healthcheck", "/berth/v1/health")
COPY = Path(__file__).parents[5] / "doc" / "openapi" / "placement.json"


@pytest.fixture
def whole():
    """Return the document of all versions."""
    return of_version(None)


def operations(found):
    """Yield path, method and operation."""
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def words(value):
    """Yield the keys of all objects in a value."""
    if isinstance(value, list):
        for item in value:
            yield from words(item)
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from words(item)


def values_of(value, key, kind):
    """Yield what stands under a key anywhere in the value, if it is of a kind."""
    if isinstance(value, list):
        for item in value:
            yield from values_of(item, key, kind)
    if isinstance(value, dict):
        if isinstance(value.get(key), kind):
            yield value[key]
        for item in value.values():
            yield from values_of(item, key, kind)


def references(value):
    """Yield what the value refers to."""
    return values_of(value, "$ref", str)


@pytest.mark.parametrize("version", VALIDATED, ids=name)
def test_the_document_of_a_version_is_valid_openapi(version):
    found = json.loads(json.dumps(of_version(version)))
    assert [error.message for error in OpenAPIV31SpecValidator(found).iter_errors()] == []


def test_the_document_of_all_versions_is_valid_openapi(whole):
    found = json.loads(json.dumps(whole))
    assert [error.message for error in OpenAPIV31SpecValidator(found).iter_errors()] == []


@pytest.mark.parametrize("version", HISTORY, ids=name)
def test_every_endpoint_of_the_version_is_described_with_each_status(version):
    described = {
        (path, method.upper()): {
            int(status)
            for status in operation["responses"]
            if status not in ("401", "406", "413", "431", "500", "501", "503", "507")
        }
        for path, method, operation in operations(of_version(version))
    }
    wanted = {}
    for path, endpoints in api().routes.items():
        place = path.replace("<", "{").replace(">", "}")
        for endpoint in endpoints:
            if endpoint.since <= version:
                wanted[place, endpoint.method] = {
                    status
                    for status, table in api().responses[place][endpoint.method].items()
                    if min(table) <= version and status not in (401, 406, 503)
                }
    for path in MONITORED:
        del described[path, "GET"], described[path, "HEAD"]
    assert described.keys() == wanted.keys()
    for place, statuses in described.items():
        # those that are no longer given aren't described
        assert statuses <= wanted[place]
        assert any(status < 300 for status in statuses), place


@pytest.mark.parametrize("version", HISTORY, ids=name)
def test_generators_find_no_alternatives_that_exclude_each_other(version):
    assert "oneOf" not in set(words(of_version(version)))


@pytest.mark.parametrize(
    "version", [*VERSIONS, None], ids=lambda v: "all" if v is None else name(v)
)
def test_nothing_refers_to_nothing_and_no_component_is_unused(version):
    found = of_version(version)
    kinds = ("schemas", "responses", "headers")
    known = {f"#/components/{kind}/{each}" for kind in kinds for each in found["components"][kind]}

    assert set(references(found)) == known


def test_operations_have_names_of_their_own(whole):
    names = Counter(operation["operationId"] for _, _, operation in operations(whole))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_operation_has_a_sentence_about_it(whole):
    for path, method, operation in operations(whole):
        assert operation["summary"].endswith("."), (path, method)


def test_what_some_versions_lack_is_marked(whole):
    paths = whole["paths"]
    assert "x-openstack" not in paths["/resource_providers"]["get"]
    assert paths["/reshaper"]["post"]["x-openstack"] == {"min-ver": "1.30"}
    listed = paths["/resource_providers"]["get"]
    marks = {each["name"]: each.get("x-openstack") for each in listed["parameters"]}
    assert marks["name"] is None
    assert marks["in_tree"] == {"min-ver": "1.14"}
    created = paths["/resource_providers"]["post"]["responses"]
    assert created["200"]["x-openstack"] == {"min-ver": "1.20"}
    assert created["201"]["x-openstack"] == {"max-ver": "1.19"}
    body = paths["/allocations/{consumer_uuid}"]["put"]["requestBody"]
    forms = body["content"]["application/json"]["schema"]["anyOf"]
    spans = [(f["x-openstack"]["min-ver"], f["x-openstack"].get("max-ver")) for f in forms]
    assert spans == [
        ("1.0", "1.7"),
        ("1.8", "1.11"),
        ("1.12", "1.27"),
        ("1.28", "1.33"),
        ("1.34", "1.37"),
        ("1.38", None),
    ]


def test_a_body_that_later_versions_ignore_is_marked(whole):
    renamed = whole["paths"]["/resource_classes/{name}"]["put"]
    assert renamed["requestBody"]["required"] is False
    assert renamed["requestBody"]["x-openstack"] == {"max-ver": "1.6"}
    assert "requestBody" not in of_version((1, 7))["paths"]["/resource_classes/{name}"]["put"]


def test_groups_with_suffixes_are_one_parameter():
    found = of_version(NEWEST)["paths"]["/allocation_candidates"]["get"]["parameters"]
    by_name = {each["name"]: each for each in found}
    groups = by_name["groups"]
    assert (groups["style"], groups["explode"]) == ("form", True)
    assert groups["schema"]["additionalProperties"] is False
    assert set(groups["schema"]["patternProperties"]) == {
        f"^{each}([a-zA-Z0-9_-]{{1,64}})$"
        for each in ("resources", "required", "member_of", "in_tree")
    }
    # the group without a suffix has parameters of its own
    assert by_name["resources"]["schema"] == {"type": "string"}


def test_parameters_that_may_repeat_are_lists():
    def kind(version, parameter):
        found = of_version(version)["paths"]["/resource_providers"]["get"]["parameters"]
        return {each["name"]: each["schema"]["type"] for each in found}[parameter]

    assert (kind((1, 23), "member_of"), kind((1, 24), "member_of")) == ("string", "array")
    assert (kind((1, 38), "required"), kind((1, 39), "required")) == ("string", "array")


def test_the_location_of_a_new_provider_is_described_with_each_status():
    def headers(version, status):
        made = of_version(version)["paths"]["/resource_providers"]["post"]["responses"]
        return made[status]["headers"]

    assert "Location" in headers((1, 19), "201")
    assert "Location" in headers((1, 20), "200")


def test_only_what_makes_something_says_where_it_is():
    def headers(version, status):
        put = of_version(version)["paths"]["/resource_classes/{name}"]["put"]["responses"]
        return put[status]["headers"]

    assert "Location" not in headers((1, 6), "200")
    assert "Location" in headers((1, 7), "204")


def test_headers_of_caches_are_described_where_they_are():
    def headers(path, method):
        answers = of_version(NEWEST)["paths"][path][method]["responses"]
        (success,) = (answers[status] for status in answers if status.startswith("2"))
        components = of_version(NEWEST)["components"]["headers"]
        used = {h: r["$ref"].rpartition("/")[2] for h, r in success["headers"].items()}
        return {header: components[name]["required"] for header, name in used.items()}

    always = {"OpenStack-API-Version": True, "x-openstack-request-id": True, "Vary": True}
    assert headers("/reshaper", "post") == always
    assert headers("/traits", "get") == always | {"Cache-Control": True, "Last-Modified": True}
    stock = "/resource_providers/{uuid}/inventories"
    assert headers(stock, "get") == always | {"Cache-Control": True, "Last-Modified": False}


def patterns(value):
    """Yield the regular expressions of all schemas in a value."""
    if isinstance(value, list):
        for item in value:
            yield from patterns(item)
    if isinstance(value, dict):
        if isinstance(value.get("pattern"), str):
            yield value["pattern"]
        if "patternProperties" in value:
            yield from value["patternProperties"]
        for item in value.values():
            yield from patterns(item)


def test_patterns_are_those_of_every_language(whole):
    """JSON Schema has those of ECMAScript: no groups of Python, no ends of a text by letter."""
    found = {*patterns(whole), *patterns(of_version(NEWEST))}
    assert found
    foreign = re.compile(r"\(\?(?![:=!])|\\[AZz]|\[:")
    assert [each for each in found if foreign.search(each)] == []


def test_alternatives_are_several(whole):
    assert [each for each in values_of(whole, "anyOf", list) if len(each) < 2] == []


def test_the_header_of_the_version_says_what_counts_without_it(whole):
    def said(path):
        parameters = whole["paths"][path]["get"]["parameters"]
        return {each["name"]: each["description"] for each in parameters}["OpenStack-API-Version"]

    assert said("/traits") == "The microversion. Without it, 1.0 counts."
    assert said("/berth/v1/capacity") == f"The microversion. Without it, {name(NEWEST)} counts."


def test_links_lead_from_a_provider_to_what_it_has():
    paths = of_version(NEWEST)["paths"]
    created = paths["/resource_providers"]["post"]["responses"]["200"]["links"]
    assert created["resource_providers_show"] == {
        "operationId": "resource_providers_show",
        "parameters": {"uuid": "$response.body#/uuid"},
    }
    shown = paths["/resource_providers/{uuid}"]["get"]["responses"]["200"]["links"]
    assert {"inventories_list_all", "inventories_replace", "allocations_list_of_provider"} <= set(
        shown
    )
    held = paths["/resource_providers/{uuid}/inventories"]["post"]["responses"]["201"]["links"]
    assert held["inventories_show"]["parameters"] == {
        "uuid": "$request.path.uuid",
        "resource_class": "$request.body#/resource_class",
    }


@pytest.mark.parametrize("source", [{"type": "object"}, {"type": "object", "properties": {}}])
def test_a_schema_of_nobody_else_stays_where_it_is(source):
    forms = Forms(shared([]))
    assert forms.of(source) == source
    assert forms.components == {}


def test_the_copy_in_the_documents_is_as_the_command_prints_it(monkeypatch, whole):
    """Made by `placement-manage openapi > doc/openapi/placement.json`."""
    monkeypatch.setattr(openapi.document, "document", lambda api, version: whole)
    assert COPY.read_text() == Texts(api(extensions=True)).of(None).text


def test_the_examples_are_what_the_service_answers(tmp_path):
    """Made by `python -m tests.functional.placement.extensions.openapi.scenario`."""
    assert json.loads(examples.FILE.read_text()) == scenario.play(tmp_path)


def test_every_operation_has_an_example(whole):
    shown = {
        (path, method)
        for path, method, operation in operations(whole)
        if any("example" in each for each in operation["parameters"])
        or "example" in words(operation.get("requestBody"))
        or "example" in words(operation["responses"])
    }
    described = {(path, method) for path, method, _ in operations(whole)}
    # without a body or a parameter there is nothing to show
    assert described - shown == {
        ("/berth/v1/openapi.json", "get"),
        ("/berth/v1/openapi.yaml", "get"),
        *((path, method) for path in MONITORED for method in ("get", "head")),
    }


def test_yaml_says_the_same():
    texts = Texts(api(extensions=True))
    found = texts.of(NEWEST, "application/yaml").text
    assert yaml.load(found, yaml.CSafeLoader) == json.loads(texts.of(NEWEST).text)


def test_without_extensions_only_the_standard_is_described():
    found = document(api(extensions=False), NEWEST)
    assert set(found["paths"]) == {path.replace("<", "{").replace(">", "}") for path in ROUTES}
    assert not any(each.startswith("Extension") for each in found["components"]["schemas"])


def test_a_parameter_whose_meaning_nobody_wrote_names_the_file_for_it():
    queries = {"/traits": {(1, 6): Schema(closed_object({"colour": STRING}))}}
    with pytest.raises(LookupError, match=r"'colour' of /traits .* placement/schemas/filters\.py"):
        parameters.of_query(queries, "/traits", "GET", (1, 6))
