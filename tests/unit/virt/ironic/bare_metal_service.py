"""A bare metal service on the loopback interface that answers what openstacksdk asks."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from keystoneauth1 import loading

TOKEN = "a-token"


class BareMetalService(ThreadingHTTPServer):
    """Lists `nodes`, dicts as in the API, `page_size` at a time; `status` other than 200 fails."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.nodes = []
        self.page_size = 2
        self.status = 200
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def bare_metal_service():
    service = BareMetalService()
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        service.server_close()
        thread.join()


def with_token(conf, service):
    """Set a token. The options of the plugin exist once it is loaded."""
    conf.register_opts(
        loading.get_auth_plugin_conf_options(loading.get_plugin_loader("admin_token")),
        group="ironic",
    )
    conf.set_override("token", TOKEN, group="ironic")
    conf.set_override("endpoint", service.url, group="ironic")
    return conf


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.server.requests.append((url.path, query, self.headers.get("X-Auth-Token")))
        if url.path.rstrip("/") in ("", "/v1"):
            self._answer(200, self._versions())
        elif self.headers.get("X-Auth-Token") != TOKEN:
            self._answer(401, {"error_message": "who are you?"})
        elif self.server.status != 200:
            self._answer(self.server.status, {"error_message": "the conductor is asleep"})
        elif url.path.startswith("/v1/nodes/"):
            uuid = url.path.rpartition("/")[2]
            known = [node for node in self.server.nodes if node["uuid"] == uuid]
            self._answer(200 if known else 404, {"uuid": uuid} if known else {})
        else:
            self._answer(200, self._nodes(query))

    def _versions(self):
        version = {
            "id": "v1",
            "status": "CURRENT",
            "min_version": "1.1",
            "version": "1.90",
            "links": [{"href": f"{self.server.url}/v1/", "rel": "self"}],
        }
        return {"name": "OpenStack Ironic API", "versions": [version], "default_version": version}

    def _nodes(self, query):
        wanted = {name: query[name] for name in ("conductor_group", "shard") if name in query}
        found = [
            node
            for node in self.server.nodes
            if all(node.get(name) == value for name, value in wanted.items())
        ]
        uuids = [node["uuid"] for node in found]
        start = uuids.index(query["marker"]) + 1 if "marker" in query else 0
        page = found[start : start + self.server.page_size]
        fields = query["fields"].split(",")
        answer = {"nodes": [{name: node.get(name) for name in fields} for node in page]}
        if start + len(page) < len(found):
            answer["next"] = f"{self.server.url}/v1/nodes?marker={page[-1]['uuid']}" + "".join(
                f"&{name}={query[name]}" for name in ("fields", *wanted)
            )
        return answer

    def _answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):
        """Say nothing."""
