"""An identity server on the loopback interface, with what keystonemiddleware needs of it.

tests/keystone has tests with a real keystone.
"""

import datetime
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.patience import PATIENCE

SERVICE_PASSWORD = "the service's own password"
DOMAIN = {"id": "default", "name": "Default"}
HOUR = datetime.timedelta(hours=1)
#: role → roles that keystone's bootstrap makes it imply
IMPLIED = {
    "admin": ("manager", "member", "reader"),
    "manager": ("member", "reader"),
    "member": ("reader",),
}


def token(user, roles=(), project=None, system=False, valid_for=HOUR):
    """Return the token's data as the identity API shows it (v3, GET /auth/tokens).

    :param project: the token's scope; with `system` instead: the whole system; else no scope
    """
    now = datetime.datetime.now(datetime.UTC)
    data = {
        "methods": ["password"],
        "user": {"id": user, "name": user, "domain": DOMAIN},
        "audit_ids": ["audit"],
        "issued_at": _time(now - 2 * HOUR),
        "expires_at": _time(now + valid_for),
    }
    if roles:
        implied = {one for role in roles for one in IMPLIED.get(role, ())}
        data["roles"] = [{"id": role, "name": role} for role in sorted({*roles, *implied})]
    if project is not None:
        data["project"] = {"id": project, "name": project, "domain": DOMAIN}
    if system:
        data["system"] = {"all": True}
    return data


def _time(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")


class Keystone(ThreadingHTTPServer):
    """Issues tokens to the service itself and validates those in `tokens`.

    `asked` has the tokens of all validations. While `broken`, every response is 500. A request
    about a token whose name begins with `stuck` gets no response before the server stops.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answering)
        self.tokens = {}
        self.asked = []
        self.broken = False
        self._stopped = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.stop()

    def stop(self):
        """Refuse connections from now on; repeated calls are harmless."""
        self._stopped.set()
        self.shutdown()
        self.server_close()

    def say_nothing(self):
        """Don't respond while the server runs."""
        self._stopped.wait()

    def revoke(self, name):
        """Forget the token, as keystone does after a revocation."""
        del self.tokens[name]

    def options(self):
        """Return the options of [keystone_authtoken] for this server."""
        return {
            "www_authenticate_uri": f"{self.url}/public",
            "auth_url": f"{self.url}/v3",
            "auth_type": "password",
            "username": "placement",
            "password": SERVICE_PASSWORD,
            "user_domain_id": "default",
            "project_name": "service",
            "project_domain_id": "default",
            # a response comes, however slow the machine is, or never: then there are no retries
            "http_connect_timeout": str(PATIENCE),
            "http_request_max_retries": "0",
        }

    def own_token(self):
        """Return the token that the service gets when it logs in."""
        endpoints = [
            {"id": interface, "interface": interface, "region": "one", "region_id": "one"}
            | {"url": f"{self.url}/v3"}
            for interface in ("public", "internal", "admin")
        ]
        identity = {"id": "i", "type": "identity", "name": "keystone", "endpoints": endpoints}
        return token("placement", ["service"], "service") | {"catalog": [identity]}


class _Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.server.broken:
            self._answer(500, {})
        elif self.path.partition("?")[0] == "/v3/auth/tokens":
            self._validate()
        else:
            links = [{"rel": "self", "href": f"{self.server.url}/v3"}]
            version = {"id": "v3.14", "status": "stable", "links": links}
            self._answer(200, {"version": version})

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        identity = json.loads(self.rfile.read(length))["auth"]["identity"]
        if self.server.broken:
            self._answer(500, {})
        elif identity["password"]["user"]["password"] == SERVICE_PASSWORD:
            self._answer(201, {"token": self.server.own_token()}, {"X-Subject-Token": "service"})
        else:
            self._answer(401, {"error": {"code": 401, "message": "no", "title": "Unauthorized"}})

    def _validate(self):
        subject = self.headers["X-Subject-Token"]
        allow_expired = "allow_expired=1" in self.path
        self.server.asked.append(subject)
        if subject.startswith("stuck"):
            self.server.say_nothing()
        if self.headers["X-Auth-Token"] != "service":
            self._answer(401, {"error": {"code": 401, "message": "no", "title": "Unauthorized"}})
        elif (known := self.server.tokens.get(subject)) and (
            allow_expired or known["expires_at"] > _time(datetime.datetime.now(datetime.UTC))
        ):
            self._answer(200, {"token": known}, {"X-Subject-Token": subject})
        else:
            self._answer(404, {"error": {"code": 404, "message": "no", "title": "Not Found"}})

    def _answer(self, status, body, headers=None):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *unused):
        """Log nothing."""
