"""Change one part of a request, so that it may be invalid."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

from tests.reference.generator.draw import Draw
from tests.reference.script import PLACEHOLDER, Request

VERSIONS = (
    *("1.40", "2.0", "0.9", "-1.5", "1", "abc", "1.x", "1.5.6", "LATEST", "", " 1. 5", "01.05"),
    *("1.39, compute 2.1", "1.2, placement 1.30", "1.30 1.31", "1.1e1", "1.-1", "1._3", "1.3_9"),
)
WHOLE_VERSIONS = (
    "compute 2.5",
    "PLACEMENT 1.30",
    "1.30",
    "placement",
    ",",
    "compute 2,placement 1.9",
)
ACCEPTS = (
    *("text/html", "text/plain", "*/*", "", "application/*", "text/*", "application/json;q=0"),
    *("application/json;version=1", "text/html, */*", "application/json, text/html", "garbage"),
    *("text/html;q=0.1, application/json;q=0.9", "*/*;q=0", "application/JSON", "image/png,*/*"),
    *("application/json;q=2", "a/b/c", "text/html;level=1", ",", "application/json,", "*"),
)
CONTENT_TYPES = (
    *("text/plain", "application/json; charset=utf-8", "application/json;", "APPLICATION/JSON"),
    *("application/octet-stream", "", None, "json", "application/json+x", "application/x-json"),
    *(" application/json ", "multipart/form-data", "application/x-www-form-urlencoded", ";"),
)
SENDERS: tuple[dict[str, str | None], ...] = (
    {"X-Auth-Token": None},
    {"X-Auth-Token": ""},
    {"X-Auth-Token": "user:project-a", "X-Roles": "reader"},
    {"X-Auth-Token": "user", "X-Roles": " Service "},
    {"X-Auth-Token": "admin", "X-Roles": None},
    {"X-Auth-Token": "admin", "X-Roles": ""},
    {"X-Auth-Token": "user", "X-Roles": None},
    {"OpenStack-System-Scope": "all"},
    {"X-Auth-Token": "user:", "X-Roles": "member, READER"},
    {"X-Auth-Token": "a:b", "X-Roles": "reader", "X-Project-Id": "project-a"},
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.0, 1.5, 2**31, 2**31 - 1, 2**63, 2**64, 10**30, 1e308),
    *(
        "",
        "1",
        "x",
        "VCPU",
        "CUSTOM_X\n",
        "☃",
        "<b>x</b>",
        "a" * 201,
        "a" * 256,
        "\u0000",
        "%",
        "'",
    ),
    *([], {}, [None], [[]], {"": 1}, {"x": {}}, ["a", "a"], "00000000-0000-0000-0000-000000000000"),
    *(float("nan"), float("inf"), "ABCDEF0123456789ABCDEF0123456789", "-" * 36),
)
BODIES = (
    *(
        "",
        " ",
        "{",
        "null",
        "[]",
        "{}",
        '"x"',
        "1",
        "nope",
        "{'a': 1}",
        "[1,]",
        "\ufeff{}",
        "\udcff",
    ),
    *('{"a": 1, "a": 2}', "NaN", "[1e400]", '{"name": "\\ud800"}', "[" * 2000, '"\t"', "01", "{}x"),
)
METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "get", "FOO")
PATHS = ("/", "", "/nope", "/resource_providers/", "//", "/traits/a/b", "/allocation_candidates/x")
PARAMETERS = (
    *("bogus=1", "bogus", "name=", "name=%ff", "uuid=x", "in_tree=x", "member_of=x", "required="),
    *(
        "resources=",
        "project_id=",
        "project_id=p;user_id=u",
        "user_id=u",
        "%ff=1",
        "=",
        "&&",
        "a=b=c",
    ),
    *("limit=1", "consumer_type=x", "name=a;name=b", "associated=maybe", "name=+", "na%6de=x"),
)


def spoiled(draw: Draw, request: Request) -> Request:
    """Return the request with one unusual part, which may still be allowed."""
    ways: list[tuple[Callable[[Draw, Request], Request], int]] = [
        (_other_version, 5),
        (_odd_version, 3),
        (_odd_accept, 3),
        (_odd_sender, 3),
        (_odd_method, 2),
        (_odd_path, 3),
        (_odd_query, 3 if request.method == "GET" else 1),
        (_odd_content_type, 3 if request.body is not None else 1),
        (_odd_body, 2 if request.body is not None else 1),
        (_odd_part, 16 if request.body is not None else 0),
    ]
    (way,) = draw.rng.choices([way for way, _ in ways], [weight for _, weight in ways])
    return way(draw, request)


def _other_version(draw: Draw, request: Request) -> Request:
    return dataclasses.replace(request, version=f"1.{draw.rng.randint(0, 39)}")


def _odd_version(draw: Draw, request: Request) -> Request:
    if draw.chance(0.3):
        return dataclasses.replace(request, version=None).with_headers(
            OpenStack_API_Version=draw.one(WHOLE_VERSIONS)
        )
    return dataclasses.replace(request, version=draw.one(VERSIONS))


def _odd_accept(draw: Draw, request: Request) -> Request:
    request = request.with_headers(Accept=draw.one(ACCEPTS))
    # errors show the effect of Accept
    return spoiled(draw, request) if draw.chance(0.6) else request


def _odd_sender(draw: Draw, request: Request) -> Request:
    return dataclasses.replace(request, headers={**request.headers, **draw.one(SENDERS)})


def _odd_method(draw: Draw, request: Request) -> Request:
    return dataclasses.replace(request, method=draw.one(METHODS))


def _odd_content_type(draw: Draw, request: Request) -> Request:
    return request.with_headers(Content_Type=draw.one(CONTENT_TYPES))


def _odd_path(draw: Draw, request: Request) -> Request:
    path, mark, rest = request.path.partition("?")
    *front, last = path.split("/")
    last = draw.one(
        [last.upper(), last.lower(), last.replace("-", ""), last + "%20", f"%7B{last}%7D"]
    )
    other = draw.one([draw.uuid(), "x", "%E2%98%83", "a%2Fb", "%3Cb%3E", "..", "%00", "%0A", "%ff"])
    path = draw.one(
        [
            *PATHS,
            path + "/",
            path.replace("/", "//", 1),
            "/".join([*front, last]),
            "/".join([*front, other]),
            "/".join([*front, other]),
            path + draw.one(["/inventories", "/usages", "/x", "/traits", "/aggregates"]),
        ]
    )
    return dataclasses.replace(request, path=(path or "/") + mark + rest)


def _odd_query(draw: Draw, request: Request) -> Request:
    joint = "&" if "?" in request.path else "?"
    return dataclasses.replace(request, path=request.path + joint + draw.one(PARAMETERS))


def _odd_body(draw: Draw, request: Request) -> Request:
    return dataclasses.replace(request, body=draw.one(BODIES))


def _odd_part(draw: Draw, request: Request) -> Request:
    """Change one place of the body: remove it, replace it, or add something beside it."""
    body = copy.deepcopy(request.body)
    places = list(_places(body))
    if not places:
        return _odd_body(draw, request)
    container, key = draw.one(places)
    value = container[key]
    generation = isinstance(value, str) and PLACEHOLDER.fullmatch(value)
    if generation and draw.chance(0.6):
        off = draw.one([-1, 1, 100])
        container[key] = f"${{{generation[1]}:{generation[2]}:{off}}}"
        return dataclasses.replace(request, body=body)
    match draw.one(["drop", "replace", "replace", "replace", "beside"]):
        case "drop":
            del container[key]
        case "replace":
            container[key] = draw.one(VALUES)
        case _ if isinstance(container, dict):
            odd_keys = ["bogus", "", "VCPU", "lower", "generation", "-" * 36, draw.uuid(), "A\n"]
            container[draw.one(odd_keys)] = draw.one([*VALUES, value, value])
        case _:
            container.append(draw.one([*VALUES, value, value]))
    return dataclasses.replace(request, body=body)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Yield every container in a JSON value with every key or index in it."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    found = [(value, key) for key in keys]
    for key in keys:
        found += _places(value[key])
    return found
