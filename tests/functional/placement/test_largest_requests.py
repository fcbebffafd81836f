"""Whatever a valid request names, it ends with an answer, and others are answered after it."""

import contextlib
import re

import pytest

from placement.app import api, metrics_layout
from placement.extensions.monitoring.counting import Counting
from placement.metrics.slots import Slots
from tests.document import written
from tests.functional.placement.largest_requests import steps

#: what a search or an explanation may take here, in seconds: so little that some reach it
SECONDS = 0.1


@pytest.fixture
def limited(new_service):
    """Return a service whose searches end soon, and which shows metrics."""
    layout = metrics_layout()
    with contextlib.closing(Counting.shared(layout, Slots.anonymous(layout.width))) as counting:
        yield new_service(
            counting=counting,
            berth__search_time_limit=SECONDS,
            berth__explain_budget_ms=int(1000 * SECONDS),
            berth__metrics="token",
        ).unjudged()


def generations_of(service):
    def generation(uuid):
        question = "SELECT generation FROM resource_providers WHERE uuid = :uuid"
        return service.ask(question, uuid=uuid)[0][0]

    return generation


# long lists on each database: databases/test_long_lists.py
@pytest.mark.spread_over_databases("sqlite")
def test_each_endpoint_answers_its_largest_request(limited):
    paths = written()["paths"]
    answered = set()
    for method, route, places, query, body in steps(generations_of(limited)):
        path = re.sub("<(.*?)>", r"{\1}", route)
        target = path.format(**places) + (f"?{query}" if query else "")
        answer = limited.request(method, target, body)

        told = f"{method} {target[:300]}: {answer.status_code} {answer.text[:500]}"
        documented = paths[path][method.lower()]["responses"]
        assert str(answer.status_code) in documented, told
        assert answer.status_code not in (404, 405, 500), told
        # a search that its limit ends counts: whether one gets so far is a matter of the machine
        if answer.status_code < 400 or answer.status_code == 503:
            answered.add((method, route))
        assert limited.get("/resource_classes/VCPU").status_code == 200

    offered = api(with_metrics=True).routes
    assert answered == {(one.method, path) for path, several in offered.items() for one in several}
