"""Our candidates and the reference's, for the same random clouds in the same database.

`BERTH_REFERENCE_CLOUDS` is the number of clouds; `tox -e reference` asks for more. Each gets about
a dozen requests. Where the reference is known to be wrong (allocation-candidates.md 2.12, D1 to
D3), Berth is compared with the brute-force twin instead.
"""

import collections
import dataclasses
import http.client
import json
import os

import hypothesis.strategies as st
import pytest
from hypothesis import given, note, settings

from tests.functional.placement.topology import read_candidate
from tests.gabbi import services
from tests.properties.stage import Stage, sqlite_in
from tests.properties.test_candidates import MANY, QUESTIONS_PER_CLOUD, check
from tests.properties.twin import SHARING
from tests.properties.worlds import clouds, questions
from tests.reference.environment import reference_python

CLOUDS = int(os.environ.get("BERTH_REFERENCE_CLOUDS", "15"))


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """Yield Berth, and the reference on the same file."""
    folder = tmp_path_factory.mktemp("candidates")
    stage = Stage(sqlite_in(folder))
    options = services.options_of(folder, {})
    with services.reference(reference_python(), folder, options, "") as reference:
        stage.port = reference.port
        yield stage


@settings(MANY, max_examples=CLOUDS)
@given(data=st.data())
def test_both_services_find_the_same_candidates(stage, data):
    cloud = data.draw(clouds())
    stage.show(cloud)
    names = {key: name for name, key in stage.uuids.items()}
    for _ in range(QUESTIONS_PER_CLOUD):
        version, question = data.draw(questions(cloud))
        # any candidates may remain under a limit
        question = dataclasses.replace(question, limit=None)
        query = stage.query(question)
        note(f"1.{version} {query}")
        ours = stage.service.request(
            "GET", f"/allocation_candidates?{query}", version=f"1.{version}"
        )
        theirs = asked_of_the_reference(stage.port, query, version)
        if is_known_defect(cloud, question, theirs[0]):
            check(stage, cloud, version, question, query)
        else:
            assert readable(ours.status_code, ours.json, names) == readable(*theirs, names)


def asked_of_the_reference(port, query, version):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement 1.{version}"}
    connection.request("GET", f"/allocation_candidates?{query}", headers=headers)
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    return answer.status, body


def is_known_defect(cloud, question, status):
    """Return whether the reference may be wrong here (allocation-candidates.md 2.12)."""
    sharing = any(SHARING in provider.traits for provider in cloud.providers.values())
    unsuffixed = [ask for ask in question.asks if not ask.suffix]
    suffixed = [ask for ask in question.asks if ask.suffix]
    if not unsuffixed:
        return False
    loses_anchors = bool(suffixed) and sharing
    adds_up = question.policy != "none" and any(
        unsuffixed[0].resources.keys() & ask.resources.keys() for ask in suffixed
    )
    return loses_anchors or adds_up or (sharing and status == 500)


def readable(status, body, names):
    """Return everything in a response, in a defined order."""
    if status != 200:
        return status, body["errors"][0]["detail"], body["errors"][0].get("code")
    for summary in body["provider_summaries"].values():
        if "traits" in summary:
            summary["traits"].sort()
    candidates = [read_candidate(request, names) for request in body["allocation_requests"]]
    return status, collections.Counter(candidates), body["provider_summaries"]
