"""The manifest for Kubernetes: its probes ask what they should, and its command serves."""

import pytest
import requests
import yaml

from tests.contrib.files import text_of
from tests.contrib.users import PLACEMENT
from tests.faults.running import accepts
from tests.functional.placement.serving.conftest import configuration
from tests.functional.placement.serving.programs import FORKED, Server, free_port
from tests.patience import PATIENCE

MANIFEST = "kubernetes/placement-api.yaml"


@pytest.fixture
def container():
    deployment, service = yaml.safe_load_all(text_of(MANIFEST))
    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    pod = deployment["spec"]["template"]
    assert pod["spec"]["securityContext"]["runAsUser"] == PLACEMENT
    assert service["spec"]["selector"] == pod["metadata"]["labels"]
    (container,) = pod["spec"]["containers"]
    return container


def test_without_its_database_the_pod_lives_and_is_not_ready(container, tmp_path):
    port = free_port()
    given = {"0.0.0.0": "127.0.0.1", "8780": str(port)}
    program, *arguments = [given.get(one, one) for one in container["command"]]
    assert program == "placement-api"
    command = [FORKED, *arguments]
    server = Server(command, tmp_path, configuration(tmp_path), f"http://127.0.0.1:{port}", True)
    try:
        server.wait_until(lambda: asked(server, container["startupProbe"]) == 200)
        server.wait_until(lambda: asked(server, container["readinessProbe"]) == 200)
        # one worker answers before the others have read the database
        workers = int(arguments[arguments.index("--workers") + 1])
        server.wait_until(lambda: sum(map(accepts, server.workers())) == workers)
        for file in tmp_path.glob("placement.db*"):
            file.write_bytes(b"no database" * 4096)

        server.wait_until(lambda: asked(server, container["readinessProbe"]) == 503)

        assert asked(server, container["livenessProbe"]) == 200
    finally:
        server.kill()


def asked(server, probe):
    """Return the status that a probe gets; None as long as nobody answers."""
    try:
        path = probe["httpGet"]["path"]
        return requests.get(server.url + path, timeout=PATIENCE).status_code
    except requests.ConnectionError:
        return None
