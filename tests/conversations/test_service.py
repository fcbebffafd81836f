"""The service and its document don't contradict each other, whatever schemathesis asks."""

import pytest

from placement.http.environ import DESCRIPTIONS
from placement.microversions import NEWEST, name
from tests import extent
from tests.conversations.conversation import Conversation
from tests.conversations.repeated import each_part_once
from tests.conversations.versions import asked_at
from tests.document import of_version
from tests.functional.placement.extensions.openapi.test_document import MONITORED
from tests.functional.placement.service import Service
from tests.wsgi_transport import answering

HOST = "http://placement.example"
#: all that schemathesis has, but for the one of times
CHECKS = {
    *("allow_header_conformance", "content_type_conformance", "ensure_resource_availability"),
    *("ignored_auth", "missing_required_header", "negative_data_rejection"),
    *("not_a_server_error", "object_level_authorization", "positive_data_acceptance"),
    *("response_headers_conformance", "response_schema_conformance", "status_code_conformance"),
    *("unsupported_method", "use_after_free"),
}


@pytest.fixture
def app(tmp_path):
    """Return a service: the document is of the API, not of a database."""
    url = f"sqlite:///{tmp_path}/placement.db"
    # only the role service may reshape: without it all boundaries of a reshape are answered 403
    return Service(url, berth__noauth2_admin_roles=["admin", "service"]).app


@pytest.mark.parametrize("version", asked_at(NEWEST), ids=name)
def test_nothing_contradicts_the_document(app, version):
    # The description takes no notice of the version that it is asked with, and takes as long as a
    # hundred other answers. In YAML it has 41 forms, too, which take a minute to write;
    # test_document.py compares one with JSON
    is_described = extent.thorough and version == NEWEST
    without = DESCRIPTIONS[1:] if is_described else DESCRIPTIONS
    # pages that this service doesn't have, and probes, which answer methods that nobody knows
    without += MONITORED

    with answering(app):
        conversation = Conversation(of_version(version), version, HOST, without)

    assert not conversation.found, "\n".join(conversation.found)
    assert conversation.checks == CHECKS


def test_no_boundary_of_a_schema_contradicts_the_document(app):
    document = of_version(NEWEST)
    if not extent.thorough:
        document = each_part_once(document)

    with answering(app):
        without = DESCRIPTIONS + MONITORED
        conversation = Conversation(document, NEWEST, HOST, without, boundaries=True)

    assert not conversation.found, "\n".join(conversation.found)
    assert conversation.checks == CHECKS


def test_a_conversation_finds_what_contradicts_the_document(app):
    found = of_version((1, 0))
    path = "/resource_providers/{uuid}/usages"
    wrong = {"get": found["paths"][path]["get"] | {"responses": {"200": {"description": "OK"}}}}

    with answering(app):
        conversation = Conversation(found | {"paths": {path: wrong}}, (1, 0), HOST)

    assert any("status_code_conformance" in each for each in conversation.found)
