"""The whole document, of one microversion or of all of them (extensions.md 11)."""

import re
from collections.abc import Callable, Iterator, Mapping

from oslo_policy import policy

from placement.extensions.openapi import monitored
from placement.extensions.openapi.answers import HEADERS_AT, EndpointPlace, answers, header_rule
from placement.extensions.openapi.examples import example
from placement.extensions.openapi.forms import Forms, camel, shared
from placement.extensions.openapi.history import joined
from placement.extensions.openapi.parameters import of_header, of_path, of_query
from placement.features import Api
from placement.http.environ import JSON, OPEN_PATHS, template_of
from placement.microversions import HISTORY, Version, name
from placement.routes import Endpoint
from placement.schemas.json_schema import Json, SchemaTable, pick

OPENAPI = "3.1.0"
TOKEN: Json = {
    "type": "apiKey",
    "in": "header",
    "name": "X-Auth-Token",
    "description": "A token of keystone; with noauth2, the name of the user.",
}


def document(api: Api, version: Version | None = None) -> Json:
    """Return the description of a service as OpenAPI 3.1.

    :param api: what the service answers
    :param version: describe this microversion alone; None: all of them, with `x-openstack` at what
        some versions don't have
    """
    if version is not None:
        found = _document(api, version)
    else:
        found = joined({each: _document(api, each) for each in HISTORY})
    if api.features:
        found["paths"] |= monitored.paths()
        found["tags"].append({"name": monitored.TAG})
    return found


def _document(api: Api, version: Version) -> Json:
    forms = Forms(shared(api.schema_modules()))
    rules = _rules(api)
    paths: Json = {}
    for route, endpoints in api.routes.items():
        path = template_of(route)
        for method in dict.fromkeys(endpoint.method for endpoint in endpoints):
            known = [e for e in endpoints if e.method == method and e.since <= version]
            if known:
                operation = _operation(api, path, known[-1], version, forms, rules)
                paths.setdefault(path, {})[method.lower()] = operation
    with_links(paths, forms.components)
    return {
        "openapi": OPENAPI,
        "info": _info(version),
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in _tags(paths)],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": TOKEN},
            "headers": _used_headers(paths, forms.answers),
            "responses": dict(sorted(forms.answers.items())),
            "schemas": dict(sorted(forms.components.items())),
        },
    }


def _info(version: Version) -> Json:
    return {
        "title": "Placement",
        "version": name(version),
        "summary": f"Microversion {name(version)} of the Placement API, as Berth serves it.",
        "description": "What microversions changed:\n"
        + "".join(f"\n* {name(each)}: {what}" for each, what in HISTORY.items() if each <= version),
        "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    }


def _operation(
    api: Api,
    path: str,
    endpoint: Endpoint,
    version: Version,
    forms: Forms,
    rules: Mapping[tuple[str, str], policy.DocumentedRuleDefault],
) -> Json:
    method, handler = endpoint.method, endpoint.handler
    family = endpoint.function.rpartition(".")[0]
    rule = rules.get((method, path))
    found: Json = {
        "operationId": f"{family}_{handler.__name__}",
        "tags": [family],
        "summary": _summary(handler) if rule is None else rule.description,
        "parameters": [
            *of_path(path, method),
            *of_query(api.queries, path, method, version),
            *of_header(path, method, version),
        ],
    }
    if rule is not None:
        found["x-policy"] = rule.name
    needs_token = path not in OPEN_PATHS
    if not needs_token:
        found["security"] = []
    if endpoint.reads:
        found["requestBody"] = _body(
            api.bodies[path, method], path, method, version, found["operationId"], forms
        )
    responses = api.responses[path][method]
    place = EndpointPlace(path, method, found["operationId"], responses, api.lines.get(path))
    found["responses"] = answers(place, version, forms, endpoint.forms, needs_token)
    return found


def _body(
    schemas: SchemaTable,
    path: str,
    method: str,
    version: Version,
    operation: str,
    forms: Forms,
) -> Json:
    schema = pick(schemas, version)
    media: Json = {"schema": forms.component(f"{camel(operation)}Request", schema.source)}
    shown = example(method, path).get("request")
    if shown is not None and schema.why_not(shown) is None:
        media["example"] = shown
    return {"required": True, "content": {JSON: media}}


def _summary(handler: Callable[..., object]) -> str:
    """Return the sentence about a handler that has no policy: its docstring's second paragraph."""
    paragraphs = [" ".join(each.split()) for each in (handler.__doc__ or "").split("\n\n")]
    return paragraphs[1]


def _rules(api: Api) -> dict[tuple[str, str], policy.DocumentedRuleDefault]:
    """Return the policy rule of each endpoint."""
    return {
        (operation["method"], operation["path"]): rule
        for rule in api.rules
        if isinstance(rule, policy.DocumentedRuleDefault)
        for operation in rule.operations
    }


def _tags(paths: Json) -> list[str]:
    return list(
        dict.fromkeys(
            tag
            for methods in paths.values()
            for operation in methods.values()
            for tag in operation["tags"]
        )
    )


def _used_headers(paths: Json, shared_answers: Json) -> Json:
    answers = list(shared_answers.values())
    for methods in paths.values():
        for operation in methods.values():
            answers += operation["responses"].values()
    used = {
        reference["$ref"].removeprefix(HEADERS_AT)
        for answer in answers
        for reference in answer.get("headers", {}).values()
    }
    return {each: header_rule(each) for each in sorted(used)}


_PLACE = re.compile("{([a-z_]+)}")
_LAST = re.compile("(.*)/{([a-z_]+)}")


def with_links(paths: Json, components: Json) -> None:
    """Add links to the successes of all operations that make or name something."""
    for path, methods in paths.items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    found = dict(_links(path, method, status, operation, paths, components))
                    if found:
                        answer["links"] = found


def _links(
    path: str, method: str, status: str, operation: Json, paths: Json, components: Json
) -> Iterator[tuple[str, Json]]:
    own = {place: f"$request.path.{place}" for place in _PLACE.findall(path)}
    if method == "delete":
        # after it, the path doesn't exist any more
        return
    for other, methods in paths.items():
        values = None
        if own and (other == path or other.startswith(f"{path}/")):
            values = own
        made = _LAST.fullmatch(other)
        if method == "post" and made is not None and made[1] == path:
            named = _given(made[2], status, operation, components)
            values = None if named is None else own | {made[2]: named}
        if values is None or set(_PLACE.findall(other)) != set(values):
            continue
        for to, target in methods.items():
            if (other, to) != (path, method):
                yield target["operationId"], _link(target, values)


def _given(place: str, status: str, operation: Json, components: Json) -> str | None:
    """Return the expression for what a POST has named, or None if it names nothing."""
    answer = operation["responses"][status].get("content", {}).get("application/json")
    if answer is not None and place in _properties(answer["schema"], components):
        return f"$response.body#/{place}"
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None and place in _properties(body["schema"], components):
        return f"$request.body#/{place}"
    return None


def _properties(schema: Json, components: Json) -> Json:
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    found: Json = schema.get("properties", {})
    return found


def _link(target: Json, values: dict[str, str]) -> Json:
    return {"operationId": target["operationId"], "parameters": dict(values)}
