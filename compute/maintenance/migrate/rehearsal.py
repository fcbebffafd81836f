"""A report client that reads and never writes, for rehearsals."""

from __future__ import annotations

from typing import NoReturn

from oslo_config import cfg
from requests import Response

from compute.report import SchedulerReportClient
from compute.report.wire.transport import Sender


class WriteRefused(Exception):
    """A write was tried in a rehearsal."""


class ReadingAdapter:
    """Sends GETs through another adapter, and refuses all other requests."""

    def __init__(self, adapter: Sender) -> None:
        self._adapter = adapter

    @property
    def additional_headers(self) -> object:
        """The headers that go with each request."""
        return self._adapter.additional_headers

    @additional_headers.setter
    def additional_headers(self, headers: object) -> None:
        self._adapter.additional_headers = headers

    def get(self, url: str, **kwargs: object) -> Response:
        """GET `url`."""
        return self._adapter.get(url, **kwargs)

    def post(self, url: str, **kwargs: object) -> NoReturn:
        """Refuse. Raises WriteRefused."""
        raise WriteRefused(f"POST {url}")

    def put(self, url: str, **kwargs: object) -> NoReturn:
        """Refuse. Raises WriteRefused."""
        raise WriteRefused(f"PUT {url}")

    def delete(self, url: str, **kwargs: object) -> NoReturn:
        """Refuse. Raises WriteRefused."""
        raise WriteRefused(f"DELETE {url}")


def rehearsing_client(adapter: Sender, *, conf: cfg.ConfigOpts) -> SchedulerReportClient:
    """Return a report client that reads through `adapter` and refuses to write."""
    return SchedulerReportClient(ReadingAdapter(adapter), conf=conf)


def refuses_writes(client: SchedulerReportClient) -> bool:
    """Say whether the client is one for rehearsals."""
    return isinstance(client.transport.adapter, ReadingAdapter)
