"""A keystoneauth1-like adapter that answers from a list, and such answers."""

import json

import requests

#: configuration of clients that ask for each provider alone
ONE_BY_ONE = {("berth", "whole_trees"): False}


def answer(status=200, body=None, text=None):
    response = requests.Response()
    response.status_code = status
    if text is None:
        text = "" if body is None else json.dumps(body)
    response._content = text.encode()
    return response


CONCURRENT = {"code": "placement.concurrent_update", "detail": "try again"}


def row(uuid, parent=None, generation=0):
    """Return a provider as a list of providers shows it."""
    return {
        "uuid": uuid,
        "name": f"{uuid}-name",
        "generation": generation,
        "parent_provider_uuid": parent,
    }


def listed(*rows):
    """Return the answer that lists these providers."""
    return answer(200, {"resource_providers": list(rows)})


def refused(**error):
    """Return a 409 with that error in its body."""
    return answer(409, {"errors": [error]})


def conflict(detail="provider generation"):
    """Return the 409 of a concurrent update."""
    return refused(code="placement.concurrent_update", detail=detail)


def sent_body(client):
    """Return the body of the last request of a client over a FakeAdapter."""
    return client.transport.adapter.sent[-1][2]["json"]


class FakeAdapter:
    """Answers each request with the next of `answers`; an exception among them is raised.

    `sent` holds `(method, url, keyword arguments)`.
    """

    def __init__(self, *answers, headers=None):
        self.answers = list(answers)
        self.sent = []
        self.additional_headers = headers

    def _request(self, method, url, kwargs):
        self.sent.append((method, url, kwargs))
        following = self.answers.pop(0)
        if isinstance(following, Exception):
            raise following
        return following

    def get(self, url, **kwargs):
        return self._request("GET", url, kwargs)

    def post(self, url, **kwargs):
        return self._request("POST", url, kwargs)

    def put(self, url, **kwargs):
        return self._request("PUT", url, kwargs)

    def delete(self, url, **kwargs):
        return self._request("DELETE", url, kwargs)
