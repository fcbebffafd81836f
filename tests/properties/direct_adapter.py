"""The shortest way from a report client to a service in this process."""

import json
from types import SimpleNamespace

from keystoneauth1.adapter import Adapter

from tests.wsgi_transport import WSGITransport

ADMINISTRATOR = {"x-auth-token": "admin", "x-roles": "admin,service"}


class DirectAdapter(Adapter):
    """Calls the application without a session: thousands of requests are quick that way."""

    def __init__(self, app):
        super().__init__(session=None)
        self._transport = WSGITransport(app)

    def request(self, url, method, **kwargs):
        headers = {**ADMINISTRATOR, **(kwargs.get("headers") or {})}
        body = None
        if "json" in kwargs:
            body = json.dumps(kwargs["json"])
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        request = SimpleNamespace(
            method=method, url=f"http://placement.test{url}", headers=headers, body=body
        )
        return self._transport.send(request)
