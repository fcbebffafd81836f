"""What the tests of compare ask for, and wrong answers to it."""

import copy
import json

from tests.functional.placement.small_cloud import ROOT

SECRET = "s3cr3t-token"
PATH = f"/resource_providers/{ROOT}"
SEARCH = "/allocation_candidates?resources=VCPU:1"
QUESTIONS = (
    *(f"GET {path}" for path in (PATH, f"{PATH}/inventories", f"{PATH}/traits", "/nothing")),
    *("GET /resource_providers", f"GET {SEARCH}", f"GET {SEARCH}&limit=1000"),
)


def counts(out):
    """Return the numbers of the JSON report."""
    return {kind: number for kind, number in json.loads(out)["counts"].items() if number}


def changed_body(path, change):
    """Return a fault of one path: a function changes the body, or returns another one."""

    def fault(asked, status, headers, body):
        if asked == path and status == 200:
            body = copy.deepcopy(body)
            body = change(body) or body
        return status, headers, body

    return fault


def changed_header(name, value):
    def fault(asked, status, headers, body):
        if asked == PATH:
            headers = {k: v for k, v in headers.items() if k.lower() != name}
            if value is not None:
                headers[name] = value
        return status, headers, body

    return fault


def changed_answer(path, status, body=None):
    def fault(asked, was, headers, content):
        return (
            (status, headers, content if body is None else body)
            if asked == path
            else (
                was,
                headers,
                content,
            )
        )

    return fault


def first_candidate(change):
    def of_body(body):
        change(body["allocation_requests"][0]["allocations"])

    return changed_body("/allocation_candidates", of_body)


def of_stock(change):
    return changed_body(f"{PATH}/inventories", lambda body: change(body["inventories"]["VCPU"]))


def double(amounts):
    for part in amounts.values():
        part["resources"]["VCPU"] *= 2
