"""Requests of every endpoint: right ones, nearly right ones, and odd ones."""

import re
from urllib.parse import quote

import hypothesis.strategies as st

from placement.app import api
from placement.microversions import HISTORY
from placement.schemas.json_schema import pick
from tests.properties.fuzz_json import (
    AGGREGATE,
    CLASSES,
    CONSUMERS,
    PROVIDERS,
    TRAITS,
    UUIDS,
    WORDS,
    damaged,
    fitting,
    likely,
    spoiled,
    written,
)
from tests.properties.fuzz_service import Request

API = api()
RESPONSES = API.responses
BODIES = API.bodies
QUERIES = API.queries

ENDPOINTS = [(path, method) for path, methods in RESPONSES.items() for method in methods]
VERSIONS = list(HISTORY)
GOOD_HEADERS = {
    "x-auth-token": "admin",
    "x-roles": "admin,service",
    "accept": "application/json",
    "content-type": "application/json",
}
LONG = "9" * 5000
#: headers and what they may say that few clients do
ODD_HEADERS = {
    "openstack-api-version": [
        *("", "placement", "1.39", "placement latest", "placement 1.40", "placement 1", ",,,"),
        *("compute 2.1", "placement 1.5, placement 1.39", "placement -1.5", "placement 01. 5"),
        *("placement \xb2.\xb3", "placement 1.1_0", f"placement 1.{LONG}", "\xff"),
    ],
    "accept": [
        *("", "*/*", "text/html", "text/plain", "text/*", "a/b/c", ";;;", ",", "\xe9/\xe9"),
        *("application/json;q=0", "application/json;q=nan", "*/*;q=1e9", "*/*;q=0"),
    ],
    "content-type": [
        *("", ";", "; x", "\xff", "text/plain", "application/json;", "APPLICATION/JSON"),
        *("application/json; charset=utf-16", "multipart/form-data; boundary=x"),
        "application/x-www-form-urlencoded",
    ],
    "content-length": ["", "0", "-1", "+1", "1_0", "x", "1.0", "\xb2", " 2 ", "9" * 30, LONG],
    "x-auth-token": ["", ":", "admin:", "admin:p:q", "nobody", "\xe9", "a" * 300, "admin\t"],
    "x-roles": ["", ",", "reader", "member,reader", " SERVICE ", "\xff", "admin\t"],
    "x-project-id": ["", "p", "\xe9" * 300],
    "x-tenant-id": ["p"],
    "x-user-id": ["", "u"],
    "openstack-system-scope": ["", "all"],
    "x-openstack-request-id": ["", "req-1", f"req-{UUIDS[0]}", "\xff"],
    "host": ["", "x:80", "x:y", "[::1]:80", "a b", "\xe9", "<b>", "x/y", "x" * 300, "."],
    "x-forwarded-for": ["1.2.3.4, 5", "\xff", ",", "x" * 1000],
    "x-forwarded-proto": ["", "https", "gopher", "\xff", ","],
    "x-forwarded-host": ["", "a,b", "\xff", "x:y"],
    "x-forwarded-port": ["", "80", "x", "-1"],
    "x-forwarded-prefix": ["", "/x", "//", "\xff", "x"],
    "forwarded": [
        *("proto=https;host=x", ";=;", "=", ",", 'for="[', "proto=\xff", "for=1;for=2,by=3"),
        *("host=a\tb;proto=https", "for=[::1]:x;proto"),
    ],
    "origin": ["", "null", "http://elsewhere", "http://known", "\xff", "http://known, x"],
    "access-control-request-method": ["", "GET", "get", "\xff"],
    "access-control-request-headers": ["", "x,y", ",", "openstack-api-version", "\xff"],
    "content-encoding": ["gzip", "identity", "x"],
    "transfer-encoding": ["chunked", "gzip, chunked", "x"],
    "accept-encoding": ["gzip", "*;q=0"],
    "accept-language": ["de", "\xff;q=x"],
    "if-modified-since": ["yesterday", "Thu, 01 Jan 1970 00:00:00 GMT"],
    "if-none-match": ["*", '"x"'],
    "range": ["bytes=0-0", "x"],
    "cookie": ["a=b; c", "\xff="],
    "authorization": ["Basic x", "Bearer", "\xff"],
    "x-http-method-override": ["DELETE"],
    "x-service-token": ["x"],
}
ODD_HEADER = st.sampled_from([(name, value) for name, all in ODD_HEADERS.items() for value in all])

#: what stands in the braces of a path
NAMES = {
    "uuid": PROVIDERS,
    "root_uuid": PROVIDERS,
    "consumer_uuid": CONSUMERS,
    "resource_class": CLASSES,
    "name": [*CLASSES, *TRAITS],
}
ODD_SEGMENTS = [
    *("\n", "CUSTOM_A\n", "\r\nX: y", "\0", "%", "%2F", "a b", "<b>", "{0}", ".", "..", "\xff\xfe"),
    *("\xe2\x98\x83", "\xed\xa0\x80", "\xc3\xa9", "?", "#", ";x=y", "X" * 300, UUIDS[0].upper()),
    *("CUSTOM_" + "A" * 248, "CUSTOM_" + "A" * 249, "CUSTOM_\xc4\xb0", "null", "-1", "0"),
]
ODD_PATHS = [
    *("", "/", "//", "/\n", "*", "x", "/traits/", "/traits//", "//traits", "/traits/a/b", "/\xff"),
    *("/Traits", "/resource_providers/", "/resource_providers//usages", "/..", "/allocations\n"),
]
ODD_METHODS = ["HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "X", "GET\xe9", ""]

#: what the parameters of queries may say; some of it rightly
VALUES = {
    "uuid": UUIDS,
    "in_tree": UUIDS,
    "name": ["root", "in:CUSTOM_T,NOPE", "startswith:CUSTOM_", "startswith:%", "in:", ":", "foo:x"],
    "member_of": [AGGREGATE, f"in:{AGGREGATE},{UUIDS[3]}", f"!{AGGREGATE}", f"!in:{AGGREGATE}"],
    "resources": ["VCPU:1", "VCPU:2,DISK_GB:5", "VGPU:1", "CUSTOM_A:1", "NOPE:1"],
    "required": ["CUSTOM_T", "!CUSTOM_T", "in:CUSTOM_T,HW_CPU_X86_VMX", "NOPE"],
    "root_required": ["CUSTOM_T", "!HW_CPU_X86_VMX"],
    "same_subtree": ["_group,1", ""],
    "group_policy": ["none", "isolate"],
    "limit": ["1", "2", "1000"],
    "associated": ["true", "False"],
    "project_id": ["p", "q"],
    "user_id": ["u"],
    "consumer_type": ["INSTANCE", "all", "unknown", "allx"],
}
ODD_VALUES = [
    *(
        "",
        ",",
        ":",
        "!",
        "in:",
        "!in:",
        "in:!",
        ",,",
        " ",
        "\0",
        "\n",
        "%",
        "'",
        "\u2603",
        "\U0001f600",
    ),
    *("VCPU:\u0663", "VCPU:1_0", "VCPU:0", "VCPU:-1", "VCPU:1:2", "VCPU: 1 ", f"VCPU:{2**31}"),
    *(f"VCPU:{2**63}", f"VCPU:{2**64}", f"VCPU:{LONG}", "VCPU:1e9", f"VCPU\n:{1}", ":1", "VCPU"),
    *("0", "-1", str(2**31), str(2**63), "9" * 30, LONG, "1.0", "\u0661", "1\n", "x" * 300),
    *("{" + UUIDS[0] + "}", UUIDS[0].replace("-", ""), f"urn:uuid:{UUIDS[0]}", f"{UUIDS[0]}\n"),
    *("\u0130" * 32, "\uff10" * 32, "in:" + ",".join(["CUSTOM_T"] * 1000), "!!!CUSTOM_T", "none"),
]
SUFFIXES = ["", "1", "2", "_group", "\u2603", "A" * 65, "0"]
RAW_QUERIES = [
    *("&", "=", ";;;", "?", "%", "%zz", "%ff=1", "name=%ff", "name=%ed%a0%80", "na%me=x", "+=+"),
    *("name=\xff", "name", "=x", "resources=VCPU%3a1&resources=VCPU:1", "&" * 2000, "a=b&" * 300),
    *(
        "name=%00",
        "name=%u2603",
        "project_id=p&project_id",
        "limit=1&limit=x",
        "%72esources=VCPU:1",
    ),
]


@st.composite
def requests(draw, endpoint=None):
    """Draw a request: mostly what clients of its endpoint send, and a few things they don't."""
    path, method = endpoint or draw(st.sampled_from(ENDPOINTS))
    version = draw(likely(st.just(VERSIONS[-1]), st.sampled_from(VERSIONS), 3))
    query = draw(_queries(path, version)) if path in QUERIES and method == "GET" else ""
    body = draw(_bodies(BODIES[path, method], version)) if (path, method) in BODIES else b""
    return Request(
        draw(likely(st.just(method), st.sampled_from(ODD_METHODS), 40)),
        draw(likely(_paths(path), st.sampled_from(ODD_PATHS), 40)),
        draw(likely(st.just(query), st.sampled_from(RAW_QUERIES), 15)),
        draw(_headers(version)),
        body,
    )


@st.composite
def _paths(draw, template):
    def segment(found):
        names = st.sampled_from(NAMES[found[1]])
        return draw(likely(names, st.sampled_from(ODD_SEGMENTS), 8))

    return re.sub("{([a-z_]+)}", segment, template)


@st.composite
def _headers(draw, version):
    headers = GOOD_HEADERS | {"openstack-api-version": "placement {}.{}".format(*version)}
    for _ in range(draw(likely(st.just(0), st.integers(1, 3), 4))):
        name, value = draw(ODD_HEADER)
        headers[name] = value
    if not draw(st.integers(0, 30)):
        headers.pop(draw(st.sampled_from(sorted(headers))))
    return headers


@st.composite
def _bodies(draw, table, version):
    schema = pick(table, max(version, min(table))).source
    value = draw(fitting(schema))
    for _ in range(draw(st.integers(0, 2))):
        value = draw(spoiled(value))
    text = written(value)
    return draw(likely(st.just(text.encode()), damaged(text), 15))


@st.composite
def _queries(draw, path, version):
    table = QUERIES[path]
    schema = pick(table, max(version, min(table))).source
    names = [*schema["properties"]]
    families = [pattern.strip("^").split("(")[0] for pattern in schema.get("patternProperties", ())]
    parts = []
    if "resources" in families or "resources" in schema.get("required", ()):
        parts.append(("resources", draw(st.sampled_from(VALUES["resources"]))))
    if "project_id" in names:
        parts.append(("project_id", "p"))
    for _ in range(draw(st.integers(0, 3))):
        family = draw(st.sampled_from([*names, *families]))
        suffix = draw(st.sampled_from(SUFFIXES)) if family in families else ""
        values = st.sampled_from(VALUES.get(family, WORDS))
        parts.append((family + suffix, draw(likely(values, st.sampled_from(ODD_VALUES), 3))))
    joined = draw(st.sampled_from(["&", "&", "&", ";", "&&"]))
    return joined.join(f"{quote(name)}={quote(value, safe=':,!')}" for name, value in parts)
