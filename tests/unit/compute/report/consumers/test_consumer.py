"""Which microversion a consumer is read at (compute.md §3.10)."""

import pytest

from compute import exceptions
from compute.report.consumers.consumer import read_consumer
from tests.unit.compute.report.answers import answer


def versions(client):
    sent = client.transport.adapter.sent
    return [options["headers"]["OpenStack-API-Version"] for _, _, options in sent]


def test_a_placement_without_types_of_consumers_is_asked_at_an_older_version(make):
    client = make(answer(406), answer(200, {"allocations": {}}))
    assert read_consumer(client, None, "c") == {"allocations": {}, "version": "1.28"}
    assert versions(client) == ["placement 1.38", "placement 1.28"]


def test_after_another_refusal_no_older_version_is_tried(make):
    client = make(answer(500, text="first"), answer(200, {"allocations": {}}))
    with pytest.raises(exceptions.ConsumerAllocationRetrievalFailed, match="first"):
        read_consumer(client, None, "c")
    assert versions(client) == ["placement 1.38"]
