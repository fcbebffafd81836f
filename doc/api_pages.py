"""Write the pages of the API, `doc/api.rst` and `doc/api/`, from the API's own description.

    python doc/api_pages.py

The examples are those of the description: a test has sent these requests and got these answers.
"""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from placement.app import api
from placement.extensions.openapi import monitored
from placement.extensions.openapi.document import document
from placement.extensions.openapi.examples import example
from placement.microversions import NEWEST, name
from placement.routes import ROUTES

HERE = Path(__file__).parent
FOLDER = HERE / "api"
WIDTH = 100

_HOST = "9b5ca6f7-5c5f-4a3b-8f0e-0d4f7c1f8a11"
_CARD = "4c1f0a52-6a0a-4e6b-9a8e-2a57f2b4e6d2"
_AGGREGATE = "e1a0a5f2-2b7a-4c53-9d6a-51d5f3c8b733"
_FIRST = "7d0f5c1e-3a4b-4f6d-8e9a-0b1c2d3e4f50"
_THIRD = "a5b4c3d2-e1f0-4a9b-8c7d-6e5f4a3b2c1d"
_PROJECT, _USER = "a7b1c2d3e4f54a6b8c9d0e1f2a3b4c5d", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
_OWNER = f"--project-id {_PROJECT} --user-id {_USER} --consumer-type INSTANCE"
#: what sends the same request, of osc-placement and of `openstack-berth[osc]`
COMMANDS = {
    "POST /resource_providers": f"resource provider create host1 --uuid {_HOST}",
    "GET /resource_providers": "resource provider list --required CUSTOM_GOLD --resource VCPU=1",
    "GET /resource_providers/{uuid}": f"resource provider show {_HOST}",
    "PUT /resource_providers/{uuid}": f"resource provider set {_CARD} --name host1_gpu_0 "
    f"--parent-provider {_HOST}",
    "DELETE /resource_providers/{uuid}": f"resource provider delete {_CARD}",
    "PUT /resource_providers/{uuid}/inventories": f"resource provider inventory set {_HOST} "
    "--resource VCPU=16 --resource VCPU:reserved=1 --resource VCPU:allocation_ratio=4.0 "
    "--resource VCPU:max_unit=16 --resource MEMORY_MB=65536 --resource MEMORY_MB:reserved=512 "
    "--resource MEMORY_MB:max_unit=65536",
    "PUT /resource_providers/{uuid}/inventories/{resource_class}": "resource provider inventory "
    f"class set {_HOST} DISK_GB --total 480 --reserved 20",
    "GET /resource_providers/{uuid}/inventories/{resource_class}": "resource provider inventory "
    f"show {_HOST} DISK_GB",
    "GET /resource_providers/{uuid}/inventories": f"resource provider inventory list {_HOST}",
    "DELETE /resource_providers/{uuid}/inventories/{resource_class}": "resource provider "
    f"inventory delete {_CARD} --resource-class DISK_GB",
    "DELETE /resource_providers/{uuid}/inventories": f"resource provider inventory delete {_CARD}",
    "GET /resource_providers/{uuid}/usages": f"resource provider usage show {_HOST}",
    "PUT /resource_providers/{uuid}/aggregates": f"resource provider aggregate set {_HOST} "
    f"--aggregate {_AGGREGATE} --generation 4",
    "GET /resource_providers/{uuid}/aggregates": f"resource provider aggregate list {_HOST}",
    "GET /resource_providers/{uuid}/allocations": f"resource provider show {_HOST} --allocations",
    "PUT /resource_providers/{uuid}/traits": f"resource provider trait set {_HOST} "
    "--trait HW_CPU_X86_VMX --trait CUSTOM_GOLD",
    "GET /resource_providers/{uuid}/traits": f"resource provider trait list {_HOST}",
    "DELETE /resource_providers/{uuid}/traits": f"resource provider trait delete {_CARD}",
    "PUT /allocations/{consumer_uuid}": f"resource provider allocation set {_FIRST} "
    f"--allocation rp={_HOST},VCPU=2,MEMORY_MB=4096 {_OWNER}",
    "GET /allocations/{consumer_uuid}": f"resource provider allocation show {_FIRST}",
    "DELETE /allocations/{consumer_uuid}": f"resource provider allocation delete {_FIRST}",
    "GET /allocation_candidates": "allocation candidate list --group 1 "
    "--resource VCPU=2 --resource MEMORY_MB=4096 --group 2 --resource VGPU=1 "
    "--required CUSTOM_GOLD --group-policy none --limit 1",
    "POST /resource_classes": "resource class create CUSTOM_FPGA",
    "PUT /resource_classes/{name}": "resource class set CUSTOM_NPU",
    "GET /resource_classes/{name}": "resource class show CUSTOM_FPGA",
    "GET /resource_classes": "resource class list",
    "DELETE /resource_classes/{name}": "resource class delete CUSTOM_FPGA",
    "PUT /traits/{name}": "trait create CUSTOM_GOLD",
    "GET /traits/{name}": "trait show CUSTOM_GOLD",
    "GET /traits": "trait list --name startswith:CUSTOM_",
    "DELETE /traits/{name}": "trait delete CUSTOM_SILVER",
    "GET /usages": f"resource usage show {_PROJECT}",
    "POST /berth/v1/claims": "allocation claim --resource VCPU=2 --resource MEMORY_MB=4096 "
    f"--consumer {_THIRD} {_OWNER} --strategy spread",
    "GET /berth/v1/provider_trees": "resource provider tree find --limit 1",
    "GET /berth/v1/allocation_candidates/explain": "allocation candidate explain "
    "--resource VCPU=200",
    "GET /berth/v1/capacity": "capacity show --resource VCPU=2 --resource MEMORY_MB=4096",
    "POST /berth/v1/capacity/evacuate": f"capacity evacuate {_HOST}",
    "POST /berth/v1/plans/survives": "capacity survives",
    "POST /berth/v1/plans/room": "capacity make room --resource VCPU=4 --resource MEMORY_MB=8192 "
    "--moves 3",
    "GET /berth/v1/suspects": "placement suspect list --kind empty_root --limit 10",
}

#: answers that are too long for a page → the file that the example writes
FILES = {
    "GET /berth/v1/openapi.json": "placement.json",
    "GET /berth/v1/openapi.yaml": "placement.yaml",
}
_TITLES = {
    "root": "Versions",
    "usages": "Usages",
    "discovery": "What is offered",
    "explain": "Why there is no candidate",
    "evacuation": "Emptying hosts",
    "survives": "Losing hosts",
    "openapi": "The description of the API",
    "monitoring": "Metrics and health",
    "changes": "What changed",
    "suspects": "What may be wrong",
    "empty_searches": "Searches that found nothing",
    "names": "Names for people",
    "provider_tree_changes": "Writing whole trees",
    "provider_trees": "Reading whole trees",
    "allocations_query": "Allocations of many names",
    "capacity": "How many more fit",
    "plans": "Which moves make room",
    "claims": "Finding and claiming",
    "provider_traits": "Traits of a provider",
}
#: the parameters that stand first in a table
_ASKED_WITH = ("resources", "required", "member_of", "in_tree")
_FOR = """\
*For people who write clients.* `The API <../api.rst>`_ has what the examples need to run in bash.
"""
_OPENING = """\
===
API
===

*For people who write clients.*

Each request with its parameters, an example, and what may be answered. All of this comes from the
`description of the API <openapi/placement.json>`_ as OpenAPI 3.1, which the service itself gives at
``/berth/v1/openapi.json``. A test has sent the examples to a service without configuration, at
microversion {newest}. It sends them in another order than that of the pages: first what creates,
last what deletes. One example alone may be refused, because what it names doesn't exist yet. In
bash they need::

    url=http://127.0.0.1:8778
    call() {{
        curl -sS -w '\\n' -H 'X-Auth-Token: admin' -H 'OpenStack-API-Version: placement {newest}' \\
            -H 'Content-Type: application/json' "$@"
    }}

or for ``openstack``, with osc-placement, where it has such a command::

    export OS_AUTH_TYPE=admin_token OS_ENDPOINT=http://127.0.0.1:8778 OS_TOKEN=admin
    export OS_PLACEMENT_API_VERSION={newest}
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below doc/."""
    whole = document(api(extensions=True))
    newest = document(api(extensions=True), NEWEST)
    by_tag: dict[str, list[tuple[str, str]]] = {}
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            if method == "head":
                # it is as GET, without a body
                continue
            by_tag.setdefault(operation["tags"][0], []).append((path, method))
    found = {"api.rst": _index(by_tag)}
    for tag, places in by_tag.items():
        sections = [_section(path, method, whole, newest) for path, method in places]
        found[f"api/{tag}.rst"] = "\n".join([_title(_name(tag), "=", over=True), _FOR, *sections])
    return found


def _index(by_tag: Mapping[str, list[tuple[str, str]]]) -> str:
    standard = {path.replace("<", "{").replace(">", "}") for path in ROUTES}
    described = {path for places in by_tag.values() for path, _ in places} - {*monitored.paths()}
    assert len(api().routes) == len(described)
    lines = [_OPENING.format(newest=name(NEWEST))]
    for title, wanted in (("OpenStack Placement's", True), ("Berth's", False)):
        lines += [_title(title, "=")]
        tags = [tag for tag, places in by_tag.items() if (places[0][0] in standard) is wanted]
        for tag in tags:
            shown = ", ".join(f"``{method.upper()} {path}``" for path, method in by_tag[tag])
            lines.append(f"* `{_name(tag)} <api/{tag}.rst>`_: {shown}")
        toc = "\n".join(f"   api/{tag}" for tag in tags)
        lines += ["", ".. toctree::", "   :hidden:", "", toc, ""]
    return "\n".join(lines).rstrip() + "\n"


def _name(tag: str) -> str:
    return _TITLES.get(tag, tag.replace("_", " ").capitalize())


def _title(text: str, line: str, over: bool = False) -> str:
    bar = line * len(text)
    return f"{bar}\n{text}\n{bar}\n" if over else f"{text}\n{bar}\n"


def _section(path: str, method: str, whole: Any, newest: Any) -> str:
    operation = whole["paths"][path][method]
    since = operation.get("x-openstack", {}).get("min-ver", "1.0")
    lines = [_title(f"{method.upper()} {path}", "=")]
    rule = f" Policy: ``{operation['x-policy']}``." if "x-policy" in operation else ""
    since = "" if operation["tags"] == [monitored.TAG] else f" Since {since}."
    more = operation.get("description", "").replace("`", "``")
    lines += [f"{operation['summary']}{since}{rule}", "", *([more, ""] if more else [])]
    lines += _parameters(operation)
    lines += _example(path, method)
    now = newest["paths"][path][method]
    lines += _statuses(now, newest)
    return "\n".join(lines).rstrip() + "\n"


def _parameters(operation: Any) -> Iterator[str]:
    shown = [each for each in operation["parameters"] if each["in"] != "header"]
    shown.sort(key=_place)
    if not shown:
        return
    yield from (".. list-table::", "   :header-rows: 1", "")
    yield from _row("Parameter", "In", "Since", "Meaning")
    for each in shown:
        span = each.get("x-openstack", {})
        since = span.get("min-ver", "")
        until = f", until {span['max-ver']}" if "max-ver" in span else ""
        needed = " Required." if each["required"] and each["in"] == "query" else ""
        meaning = each["description"].replace("`", "``") + needed
        yield from _row(f"``{each['name']}``", each["in"], since + until, meaning)
    yield ""


def _place(parameter: Any) -> tuple[bool, int]:
    """Return what orders the table: the path, what nearly everybody asks with, then the others."""
    first = parameter["name"] in _ASKED_WITH
    number = _ASKED_WITH.index(parameter["name"]) if first else len(_ASKED_WITH)
    return parameter["in"] != "path", number


def _row(first: str, *others: str) -> Iterator[str]:
    yield f"   * - {first}"
    for each in others:
        yield f"     - {each}".rstrip()


def _example(path: str, method: str) -> Iterator[str]:
    place = f"{method.upper()} {path}"
    if path in monitored.paths():
        yield from ("`Monitoring <../monitoring.rst>`_ shows what it answers.", "")
        return
    shown = example(method.upper(), path)
    yield from (".. code-block:: bash", "", *_indented(curl(place)), "")
    if place in FILES:
        yield from ("It answers 200, and the file has the answer.", "")
        return
    if place in COMMANDS:
        yield from (".. code-block:: bash", "", *_indented(_folded(COMMANDS[place])), "")
    if shown["answer"] is None:
        yield from (f"It answers {shown['status']}, without a body.", "")
        return
    yield from (f"It answers {shown['status']}:", "", ".. code-block:: json", "")
    yield from _indented(json.dumps(shown["answer"], indent=1))
    yield ""


def curl(place: str) -> str:
    """Return the command of bash that sends the example of `METHOD path`."""
    method, _, path = place.partition(" ")
    if place in FILES:
        return f'call -o {FILES[place]} "$url{path}?microversion={name(NEWEST)}"'
    shown = example(method, path)
    url = path.format(**shown["places"]) + (f"?{shown['query']}" if shown["query"] else "")
    words = ["call"]
    if method != ("GET" if shown["request"] is None else "POST"):
        words += ["-X", method]
    words.append(f'"$url{url}"')
    if shown["request"] is not None:
        words += ["-d", shlex.quote(json.dumps(shown["request"], indent=1))]
    return " ".join(words)


def _folded(command: str) -> str:
    """Return a command of `openstack` in lines that fit the page."""
    lines = ["openstack"]
    for word in shlex.split(command):
        if len(lines[-1]) + len(word) > WIDTH - 4:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += " " + word
    return "\n".join(lines)


def _indented(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"    {line}".rstrip()


def _statuses(operation: Any, document: Any) -> Iterator[str]:
    found = [int(status) for status in operation["responses"]]
    done = ", ".join(str(status) for status in found if status < 400)
    refused = ", ".join(str(status) for status in found if 400 <= status < 500 and status != 431)
    yield f"Done: {done}. Refused: {refused}."
    coded = [
        f"* {status}: {line.removeprefix('* ').replace('`', '``')}"
        for status, answer in operation["responses"].items()
        for line in _resolved(answer, document)["description"].splitlines()
        if line.startswith("* ")
    ]
    if coded:
        yield from ("", "Codes of these errors beside ``placement.undefined_code``:", "", *coded)


def _resolved(answer: Any, document: Any) -> Any:
    name = answer.get("$ref", "").removeprefix("#/components/responses/")
    return document["components"]["responses"][name] if name else answer


def main() -> None:
    """Write all pages, and remove those of operations that are gone."""
    FOLDER.mkdir(exist_ok=True)
    found = pages()
    for old in FOLDER.glob("*.rst"):
        if f"api/{old.name}" not in found:
            old.unlink()
    for page, text in found.items():
        (HERE / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
