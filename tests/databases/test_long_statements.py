"""MariaDB closes the connection of a statement that is longer than the server allows."""

import pytest

from tests.databases.fixtures import CHOSEN
from tests.databases.mortal import mortal
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect, numbered

#: more uuids than fit into a statement of a MiB
MANY = 30_000


@pytest.mark.parametrize("kind", [kind for kind in CHOSEN if kind == "mariadb"])
def test_a_request_for_a_longer_one_is_refused_as_too_much(kind):
    with mortal(kind, "--max-allowed-packet=1M") as server:
        service = Service(server.url).unjudged()
        expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
        remove = {numbered("f", number): 0 for number in range(MANY)}
        answer = service.put(f"/berth/v1/provider_trees/{ROOT}", {"remove": remove})
        assert answer.status_code == 400, answer.text
        assert "The request names more than the database can look for at once." in answer.text
        service.close()
