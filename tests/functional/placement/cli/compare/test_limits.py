"""placement-manage compare: candidates under a limit."""

import copy
import json

import pytest

from tests.functional.placement.cli.compare.cloud import (
    PATH,
    SEARCH,
    changed_body,
    counts,
    double,
)
from tests.functional.placement.served import Tampered, served
from tests.functional.placement.small_cloud import numbered


@pytest.fixture
def many(service):
    """Add providers, so that a search finds more than a limit lets through."""
    for number in range(10, 16):
        body = {"name": f"more-{number}", "uuid": numbered("a", number)}
        service.write("POST", "/resource_providers", body)
        stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
        service.write("PUT", f"/resource_providers/{body['uuid']}/inventories", stock)


def last_ones(count, spoil=lambda candidates: None):
    """Return a fault of searches with a limit: the last candidates of all instead of the first."""

    def fault(asked, status, headers, body):
        if asked == "/allocation_candidates" and len(body["allocation_requests"]) == count:
            body = copy.deepcopy(last_ones.all)
            body["allocation_requests"] = body["allocation_requests"][-count:]
            spoil(body["allocation_requests"])
        elif asked == "/allocation_candidates":
            last_ones.all = body
        return status, headers, body

    return fault


@pytest.mark.parametrize(
    ("spoil", "code", "shown"),
    [
        (lambda candidates: None, 0, "1  same"),
        (lambda candidates: candidates.pop(), 1, "choice: candidates: 2 instead of 3"),
        (lambda candidates: double(candidates[0]["allocations"]), 1, "choice: not among all"),
    ],
    ids=["all are right", "too few", "a wrong one"],
)
def test_a_choice_under_a_limit_is_judged_by_all_candidates(
    spoil, code, shown, run, application, url, file, service, many
):
    last_ones.all = json.loads(service.get(SEARCH).data)
    with served(Tampered(application, last_ones(3, spoil))) as other_choice:
        given = run("--with", url, "--url", other_choice, *file(f"GET {SEARCH}&limit=3"))
    assert (given[0], shown in given[1]) == (code, True), given[1]


def test_a_choice_that_can_not_be_judged_is_not_called_the_same(
    run, application, url, file, service, many
):
    last_ones.all = json.loads(service.get(SEARCH).data)
    turn = last_ones(3)

    def busy(asked, status, headers, body):
        if asked == "/allocation_candidates" and len(body["allocation_requests"]) > 3:
            return 503, headers, {}
        return status, headers, body

    def both(asked, *answer):
        return busy(asked, *turn(asked, *answer))

    questions = file(f"GET {SEARCH}&limit=3", f"GET {PATH}")
    with (
        served(Tampered(application, busy)) as first,
        served(Tampered(application, both)) as second,
    ):
        code, out, _ = run("--with", first, "--url", second, *questions, "--format", "json")
    assert (code, counts(out)) == (3, {"same": 1, "undecided": 1}), out


def test_as_many_candidates_as_are_generated_at_most_can_not_be_judged(
    run, application, url, file, service, many
):
    drop = changed_body("/allocation_candidates", lambda body: body.update(allocation_requests=[]))
    with served(Tampered(application, drop)) as wrong:
        options = ["--with", url, "--url", wrong, *file(f"GET {SEARCH}", f"GET {PATH}")]
        assert run(*options)[0] == 1
        code, out, _ = run(*options, "--max-candidates", "7")
    assert (code, "1  undecided" in out) == (3, True), out
