"""What monitoring asks, as OpenAPI: pages for Prometheus, and probes (extensions.md 8).

These paths have no microversions, and some of them no JSON. So they stand beside the tables that
describe all other paths.
"""

from collections.abc import Iterator

from placement.extensions.monitoring.health import FAIL, PASS, WARN
from placement.extensions.monitoring.provider_query import FAMILIES, LONGEST_PATTERN, USUAL
from placement.http.environ import JSON
from placement.http.probes import HEALTH, HEALTHCHECK
from placement.schemas.answer_shapes import exactly
from placement.schemas.json_schema import STRING, Json, closed_object

TAG = "monitoring"
METRICS, PROVIDERS = "/metrics", "/metrics/providers"
PLAIN, HTML, OPENMETRICS = "text/plain", "text/html", "application/openmetrics-text"
HEALTH_JSON = "application/health+json"

_TEXT: Json = {"schema": STRING}
_STATUS: Json = {"enum": [PASS, WARN, FAIL]}
_CHECK: Json = closed_object(
    {
        "componentType": {"enum": ["datastore", "component"]},
        "status": _STATUS,
        "time": {"type": "string", "format": "date-time"},
        "observedValue": {"type": ["number", "string"]},
        "observedUnit": {"const": "s"},
        "output": STRING,
    },
    ["componentType", "status", "time"],
)
_ONE_CHECK: Json = {"type": "array", "items": _CHECK, "minItems": 1, "maxItems": 1}
_HEALTH: Json = exactly(
    {
        "status": _STATUS,
        "version": {"const": "1"},
        "releaseId": STRING,
        "serviceId": {"const": "placement"},
        "checks": exactly(dict.fromkeys(("database", "schema", "snapshot"), _ONE_CHECK)),
    }
)
#: oslo.middleware's; with `[healthcheck]detailed` it says more
_LIVENESS: Json = {
    "type": "object",
    "properties": {"detailed": {"type": "boolean"}, "reasons": {"type": "array"}},
    "required": ["detailed", "reasons"],
}
#: what any answer of the API itself may be: JSON, and other forms for clients that don't accept it
_REFUSED: Json = {JSON: {"schema": {"type": "object"}}, HTML: _TEXT, PLAIN: _TEXT}
_NAMES: Json = {"type": "array", "items": STRING}


def _answer(description: str, content: Json | None = None) -> Json:
    return {"description": description} | ({} if content is None else {"content": content})


def _parameter(name: str, description: str, schema: Json, **more: object) -> Json:
    found = {"name": name, "in": "query", "required": False, "description": description}
    return found | {"schema": schema} | more


def _operation(name: str, summary: str, parameters: list[Json], answers: Json) -> Json:
    return {
        "operationId": f"{TAG}_{name}",
        "tags": [TAG],
        "summary": summary,
        "parameters": parameters,
        "security": [],
        "responses": dict(sorted(answers.items())),
    }


#: where metrics aren't for this client, or for nobody
_NOT_SHOWN: Json = {
    "400": _answer("The request can't be answered, or its version isn't one.", _REFUSED),
    "401": _answer("Metrics are off, or need a token that the request doesn't have.", _REFUSED),
    "403": _answer("Metrics aren't for this address, or not for this caller.", _REFUSED),
    "404": _answer("Metrics are off.", _REFUSED),
    "405": _answer("The method is none that the path has.", _REFUSED),
    "406": _answer("The version isn't served.", _REFUSED),
    "500": _answer("The service failed.", _REFUSED),
    "503": _answer("The service, or keystone, can't answer now.", _REFUSED),
}
_PAGES: Json = {
    "description": "By `[berth]metrics` it is for some addresses (`addresses`), for callers with a "
    "token whom `berth:metrics` allows (`token`), or for nobody (`off`).",
    "security": [{}, {"token": []}],
    "x-policy": "berth:metrics",
}
_OF_METRICS = [
    _parameter(
        "name[]",
        "Show the samples of this name only. May be given several times.",
        _NAMES,
        explode=True,
    )
]
_OF_PROVIDERS = [
    _parameter(
        "resource_class",
        "Show samples of these resource classes only: names with commas between them. May be given "
        "several times.",
        _NAMES,
        explode=True,
    ),
    _parameter("roots_only", "1 leaves out providers with a parent.", {"enum": ["0", "1"]}),
    _parameter(
        "traits",
        "A regular expression of whole names: show which providers have these traits.",
        {"type": "string", "maxLength": LONGEST_PATTERN},
    ),
    _parameter(
        "families",
        f"Show these families, with commas between them: {', '.join(FAMILIES)}. Without it, these "
        f"are shown: {', '.join(USUAL)}. May be given several times.",
        _NAMES,
        explode=True,
    ),
]
_HEALTHY = "The process answers. It says nothing of the database."
_DRAINED = "The process is to get no more requests: a backend of `[healthcheck]backends` says so."
_LIVE_CONTENT: Json = {PLAIN: _TEXT, HTML: _TEXT, JSON: {"schema": _LIVENESS}}


def paths() -> Json:
    """Return the operations by path and method."""
    found = {path: {"get": operation} for path, operation in _read()}
    for methods in found.values():
        methods["head"] = _head(methods["get"])
    live = found[HEALTHCHECK]["head"]["responses"]
    live["204"] = live.pop("200")
    return found


def _read() -> Iterator[tuple[str, Json]]:
    content: Json = {PLAIN: _TEXT, OPENMETRICS: _TEXT}
    page = {"200": _answer("The figures.", content)} | _NOT_SHOWN
    yield (
        METRICS,
        _operation("metrics", "Figures of the service and the cloud.", _OF_METRICS, page) | _PAGES,
    )
    samples = {"200": _answer("The samples.", {PLAIN: _TEXT})} | _NOT_SHOWN
    summary = "Figures of every provider, named as exporters name them."
    yield PROVIDERS, _operation("providers", summary, _OF_PROVIDERS, samples) | _PAGES
    live = {
        "200": _answer(_HEALTHY, _LIVE_CONTENT),
        "401": _answer("This address may not ask, and the request has no token.", _REFUSED),
        "404": _answer("This address may not ask.", _REFUSED),
        "503": _answer(_DRAINED, _LIVE_CONTENT),
    }
    yield HEALTHCHECK, _operation("liveness", "Whether the process is alive.", [], live)
    shown: Json = {HEALTH_JSON: {"schema": _HEALTH}}
    ready = {
        "200": _answer("Requests can be served; `warn` says what is doubtful.", shown),
        "405": _answer("The method is none that the path has."),
        "503": _answer("Requests can't be served.", shown),
    }
    yield HEALTH, _operation("readiness", "Whether requests can be served now.", [], ready)


def _head(read: Json) -> Json:
    """Return the same for HEAD: no answer has a body."""
    answers = {
        status: {"description": answer["description"]}
        for status, answer in read["responses"].items()
    }
    return read | {"operationId": f"{read['operationId']}_head", "responses": answers}
