"""A Prometheus that reads both pages of a service."""

import contextlib
import json
import subprocess
import time

import requests

from tests.functional.placement.serving.programs import free_port, needed
from tests.patience import PATIENCE

CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - {{job_name: placement, static_configs: [{{targets: ["{target}"]}}]}}
  - job_name: placement-providers
    metrics_path: /metrics/providers
    static_configs: [{{targets: ["{target}"]}}]
  - {{job_name: compute, static_configs: [{{targets: {hosts}}}]}}
"""


class Prometheus:
    """Answers questions about what it has read."""

    def __init__(self, url):
        self._url = url

    def found(self, expression):
        """Return the series that an expression has now; None before it answers."""
        with contextlib.suppress(requests.ConnectionError):
            response = requests.get(
                f"{self._url}/api/v1/query", params={"query": expression}, timeout=PATIENCE
            )
            assert response.status_code in (200, 503), (expression, response.text)
            if response.ok:
                return response.json()["data"]["result"]
        return None

    def points(self, expression, seconds):
        """Return the series of an expression in the last seconds, with their values."""
        now = time.time()
        asked = {"query": expression, "start": now - seconds, "end": now, "step": 1}
        response = requests.get(f"{self._url}/api/v1/query_range", params=asked, timeout=PATIENCE)
        assert response.ok, (expression, response.text)
        return response.json()["data"]["result"]

    def number(self, expression):
        """Return the one number that an expression has now; None if there is none."""
        found = self.found(expression)
        return float(found[0]["value"][1]) if found else None


@contextlib.contextmanager
def watching(url, folder, *hosts):
    """Yield a Prometheus that reads the pages of a service, and those of compute hosts.

    :param hosts: address and port of what compute hosts tell
    """
    program, port = needed("prometheus", "prometheus"), free_port()
    target = url.removeprefix("http://")
    (folder / "prometheus.yml").write_text(
        CONFIGURATION.format(target=target, hosts=json.dumps(hosts))
    )
    command = [
        program,
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield Prometheus(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(PATIENCE)
