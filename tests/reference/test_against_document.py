"""The standard part of our document describes OpenStack Placement, and not only us."""

import pytest

from placement.app import api
from placement.extensions.openapi.document import document
from placement.microversions import NEWEST, name
from tests.conversations.conversation import Conversation
from tests.conversations.versions import asked_at
from tests.gabbi import services
from tests.reference.environment import reference_python


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Yield the address of OpenStack Placement."""
    folder = tmp_path_factory.mktemp("document")
    options = services.options_of(folder, {})
    with services.reference(reference_python(), folder, options, "") as running:
        yield f"http://127.0.0.1:{running.port}"


@pytest.mark.parametrize("version", asked_at((1, 0), (1, 39)), ids=name)
def test_nothing_that_the_reference_answers_contradicts_it(reference, version):
    conversation = Conversation(document(api(extensions=False), version), version, reference)

    assert not conversation.found, "\n".join(conversation.found)


# ours is asked so in each run (tests/conversations), and random requests of both are compared
@pytest.mark.thorough
def test_no_boundary_of_a_schema_contradicts_it(reference):
    newest = document(api(extensions=False), NEWEST)
    conversation = Conversation(newest, NEWEST, reference, boundaries=True)

    assert not conversation.found, "\n".join(conversation.found)
