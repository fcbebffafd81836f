"""A report client that reads and never writes: what it would create, it only imagines."""

from __future__ import annotations

from typing import Any, NoReturn

from compute.report import SchedulerReportClient


class WriteRefused(Exception):
    """Somebody tried to write in a rehearsal."""


class RehearsalClient(SchedulerReportClient):
    """Sends nothing but GETs. `imagined` has the providers placement doesn't have, as rows."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.imagined: dict[str, dict[str, Any]] = {}

    def _create_resource_provider(
        self, context: Any, uuid: str, name: str, parent_provider_uuid: str | None = None
    ) -> dict[str, Any]:
        row = {
            "uuid": uuid,
            "name": name,
            "parent_provider_uuid": parent_provider_uuid,
            "generation": None,
        }
        self.imagined[uuid] = row
        return row

    def _allocations_of(self, context: Any, uuid: str, version: str | None) -> dict[str, Any]:
        # Nobody holds anything of a provider that isn't there.
        if uuid in self.imagined:
            return {"allocations": {}, "resource_provider_generation": 0}
        return super()._allocations_of(context, uuid, version)

    def post(self, url: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse. Raises WriteRefused."""
        raise WriteRefused(f"POST {url}")

    def put(self, url: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse. Raises WriteRefused."""
        raise WriteRefused(f"PUT {url}")

    def delete(self, url: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse. Raises WriteRefused."""
        raise WriteRefused(f"DELETE {url}")
