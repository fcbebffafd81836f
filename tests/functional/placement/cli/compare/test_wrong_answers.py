"""placement-manage compare: each kind of wrong answer is found."""

import pytest

from placement.compare import report
from placement.compare.answers import Reader
from placement.compare.asking_in_process import WSGIService
from placement.compare.request import read_requests
from placement.compare.run import Comparison
from placement.compare.verdict import Judge
from tests.functional.placement.cli.compare.cloud import (
    PATH,
    QUESTIONS,
    changed_answer,
    changed_body,
    changed_header,
    double,
    first_candidate,
    of_stock,
)
from tests.functional.placement.served import Tampered, served
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, fill

FAULTS = {
    "another status": (changed_answer(PATH, 404), "status: other 200, this 404"),
    "a crash": (changed_answer(PATH, 500), "status: other 200, this 500"),
    "a redirection": (changed_answer(PATH, 302), "status: other 200, this 302"),
    "no JSON": (changed_answer(PATH, 200, b"<html>"), "body: other"),
    "nothing": (changed_answer(PATH, 200, b""), "body: other"),
    "a value": (of_stock(lambda one: one.update(total=9)), "VCPU.total: other 8, this 9"),
    "a type": (of_stock(lambda one: one.update(total=8.0)), "VCPU.total: other 8, this 8.0"),
    "a float": (
        of_stock(lambda one: one.update(allocation_ratio=1.0001)),
        "allocation_ratio: other 1.0, this 1.0001",
    ),
    "a missing key": (of_stock(lambda one: one.pop("reserved")), "reserved: other 0, this -"),
    "one key more": (of_stock(lambda one: one.update(more=1)), "VCPU.more: other -, this 1"),
    "a missing item": (
        changed_body("/resource_providers", lambda body: body["resource_providers"].pop()),
        "body.resource_providers: other",
    ),
    "an item twice": (
        changed_body(f"{PATH}/traits", lambda body: body["traits"].append("CUSTOM_T")),
        "body.traits: other",
    ),
    "another text of an error": (
        changed_answer("/nothing", 404, b'{"errors": []}'),
        "body.errors: other",
    ),
    "no version header": (changed_header("openstack-api-version", None), "openstack-api-version"),
    "another version": (
        changed_header("openstack-api-version", "placement 1.38"),
        "openstack-api-version: other placement 1.39, this placement 1.38",
    ),
    "no vary": (changed_header("vary", None), "header vary"),
    "no cache-control": (changed_header("cache-control", None), "cache-control: other no-cache"),
    "no last-modified": (changed_header("last-modified", None), "header last-modified"),
    "an old last-modified": (
        changed_header("last-modified", "Mon, 01 Jan 2001 00:00:00 GMT"),
        "this Mon, 01 Jan 2001",
    ),
    "another type of content": (changed_header("content-type", "text/html"), "content-type"),
    "a location": (changed_header("location", "http://elsewhere/"), "header location"),
    "a missing candidate": (
        changed_body("/allocation_candidates", lambda body: body["allocation_requests"].clear()),
        "body.allocation_requests",
    ),
    "another amount": (first_candidate(double), "resources.VCPU"),
    "another summary": (
        changed_body(
            "/allocation_candidates",
            lambda body: body["provider_summaries"][ROOT].update(traits=[]),
        ),
        "traits",
    ),
}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """Return the application of a service that no test changes."""
    url = f"sqlite:///{tmp_path_factory.mktemp('lasting')}/placement.db"
    service = Service(url)
    fill(service)
    return service.app.application


class Nothing:
    """A cloud without anything that deviations depend on."""

    has_sharing_providers = optimizes_wide_trees = False


@pytest.mark.parametrize("kind", FAULTS)
def test_a_wrong_answer_is_found(kind, lasting):
    fault, shown = FAULTS[kind]
    caller = {"X-Auth-Token": "admin"}
    other = WSGIService("right", lasting, headers=caller)
    this = WSGIService("wrong", Tampered(lasting, fault), headers=caller)
    judge = Judge(Reader(), Reader(), "", "", Nothing())
    tally = Comparison(other, this, judge, tries=1).run(read_requests(QUESTIONS, "1.39"))
    compared = report.Compared("wrong", "right", len(QUESTIONS), tally, {})
    text = report.text(compared, 20)
    assert report.exit_code(compared) == 1, text
    assert ("DIFFERENT  GET " in text, shown in text) == (True, True), text


def test_a_wrong_answer_is_found_over_http(run, application, url, file):
    fault, shown = FAULTS["a value"]
    with served(Tampered(application, fault)) as wrong:
        code, out, _ = run("--with", url, "--url", wrong, *file(*QUESTIONS))
    assert (code, "DIFFERENT  GET " in out, shown in out) == (1, True, True), out
    assert "The services answer differently." in out
