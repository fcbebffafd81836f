"""The service and its document don't contradict each other, whatever schemathesis asks."""

import pytest
from wsgi_intercept.interceptor import RequestsInterceptor

from placement.http.environ import DESCRIPTIONS
from placement.microversions import NEWEST, name
from tests import extent
from tests.conversations.conversation import Conversation
from tests.conversations.versions import asked_at
from tests.document import of_version
from tests.functional.placement.extensions.openapi.test_document import MONITORED
from tests.functional.placement.service import Service

HOST = "placement.example"
#: all that schemathesis has, but for the one of times
CHECKS = {
    *("allow_header_conformance", "content_type_conformance", "ensure_resource_availability"),
    *("ignored_auth", "missing_required_header", "negative_data_rejection"),
    *("not_a_server_error", "object_level_authorization", "positive_data_acceptance"),
    *("response_headers_conformance", "response_schema_conformance", "status_code_conformance"),
    *("unsupported_method", "use_after_free"),
}


@pytest.mark.parametrize("version", asked_at((1, 0), NEWEST), ids=name)
def test_nothing_contradicts_the_document(tmp_path, version):
    # the document is of the API, not of a database
    service = Service(f"sqlite:///{tmp_path}/placement.db")
    # The description takes no notice of the version that it is asked with, and takes as long as a
    # hundred other answers. In YAML it has 41 forms, too, which take a minute to write;
    # test_document.py compares one with JSON
    is_described = extent.thorough and version == NEWEST
    without = DESCRIPTIONS[1:] if is_described else DESCRIPTIONS
    # pages that this service doesn't have, and probes, which answer methods that nobody knows
    without += MONITORED

    with RequestsInterceptor(lambda: service.app, host=HOST, port=80):
        conversation = Conversation(of_version(version), version, f"http://{HOST}", without)

    assert not conversation.found, "\n".join(conversation.found)
    assert conversation.checks == CHECKS


def test_a_conversation_finds_what_contradicts_the_document(tmp_path):
    service = Service(f"sqlite:///{tmp_path}/placement.db")
    found = of_version((1, 0))
    path = "/resource_providers/{uuid}/usages"
    wrong = {"get": found["paths"][path]["get"] | {"responses": {"200": {"description": "OK"}}}}

    with RequestsInterceptor(lambda: service.app, host=HOST, port=80):
        document = found | {"paths": {path: wrong}}
        conversation = Conversation(document, (1, 0), f"http://{HOST}")

    assert any("status_code_conformance" in each for each in conversation.found)
