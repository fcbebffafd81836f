"""A keystoneauth1-like adapter that answers from a list."""

import json

import requests


def answer(status=200, body=None, text=None):
    response = requests.Response()
    response.status_code = status
    if text is None:
        text = "" if body is None else json.dumps(body)
    response._content = text.encode()
    return response


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
