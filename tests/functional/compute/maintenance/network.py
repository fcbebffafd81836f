"""A network service that knows ports and nothing else, and can be told to fail."""

import contextlib
import json
import threading

from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from tests.functional.compute.maintenance.http_service import Quiet

PROFILE = "binding:profile"


class Network:
    """`ports` is id → port. `refuse` is called with method, id and body of each request."""

    def __init__(self):
        self.ports = {}
        self.refuse = lambda method, port, body: False
        self.updates = []

    def port(self, port, instance, request):
        """Add a port; its profile holds something else already."""
        self.ports[port] = {
            "id": port,
            "device_id": instance,
            "resource_request": request,
            PROFILE: {"kept": "as it was"},
        }

    def profile(self, port):
        return self.ports[port][PROFILE]

    def __call__(self, environ, start_response):
        request = Request(environ)
        port = request.path.removeprefix("/v2.0/ports").strip("/")
        body = request.get_json() if request.method == "PUT" else None
        return self._answer(request, port, body)(environ, start_response)

    def _answer(self, request, port, body):
        if self.refuse(request.method, port, body):
            return Response("out of order", status=500)
        if request.method == "PUT":
            self.updates.append(port)
            self.ports[port] |= body["port"]
            return _json({"port": self.ports[port]})
        wanted = request.args["device_id"]
        found = [each for each in self.ports.values() if each["device_id"] == wanted]
        return _json({"ports": found})


def _json(content):
    return Response(json.dumps(content), content_type="application/json")


@contextlib.contextmanager
def serving(network):
    """Return group [neutron] of a configuration file that describes this service."""
    server = make_server("127.0.0.1", 0, network, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield (
            "[neutron]\nauth_type = admin_token\n"
            f"endpoint = http://127.0.0.1:{server.port}\ntoken = x\n"
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
