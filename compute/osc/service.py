"""How the commands of `openstack` ask placement's extensions."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from keystoneauth1.adapter import Adapter
from osc_lib import exceptions

from compute.osc.exit_codes import refuse
from placement.reports.lines import escaped

PREFIX = "/berth/v1"
#: placement reads queries as this microversion does; OS_PLACEMENT_API_VERSION has no effect
_VERSION = "placement 1.39"
#: the end of the sentence that stands before the reason in every 400, and in every 409
_OF_EVERY_ERROR = ("otherwise incorrect. ", "trying to complete your request. ")
_NO_CANDIDATE = "berth.no_candidate"


class NoCandidateFound(Exception):
    """A claim finds no candidate; the text is placement's explanation."""


class PlacementService:
    """One placement service, as the options of `openstack` name it.

    Each method raises CommandError with one sentence if the service can't answer, and what
    keystoneauth1 raises if it can't be reached. A question that the service refuses ends the
    command.
    """

    def __init__(self, client_manager: Any) -> None:
        self._adapter = Adapter(
            client_manager.session,
            service_type="placement",
            interface=client_manager.interface,
            region_name=client_manager.region_name,
            # an endpoint that clouds.yaml names
            endpoint_override=client_manager.sdk_connection.config.get_endpoint("placement"),
        )

    def get(self, path: str) -> Any:
        """Return what GET answers."""
        return self._answer("GET", path)

    def post(self, path: str, body: object) -> Any:
        """Return what POST answers. Raises NoCandidateFound if a claim finds nothing."""
        return self._answer("POST", path, body)

    def root_of(self, name_or_uuid: str) -> str:
        """Return the uuid of the root of a provider's tree."""
        return str(self.tree_of(name_or_uuid, "inventories")["root"])

    def tree_of(self, name_or_uuid: str, fields: str) -> Any:
        """Return the tree that a provider is part of."""
        ways = [{"name": name_or_uuid}]
        if _is_uuid(name_or_uuid):
            ways.insert(0, {"uuid": name_or_uuid})
        for way in ways:
            for tree in self._send("GET", "/provider_trees", {**way, "fields": fields})["trees"]:
                return tree
        raise exceptions.CommandError(f"There is no resource provider {name_or_uuid!r}.")

    def trees(self, parameters: Mapping[str, object]) -> Iterator[Any]:
        """Yield trees, of all pages if the parameters have no limit."""
        return self._pages("/provider_trees", "trees", parameters)

    def suspects(self, parameters: Mapping[str, object]) -> Iterator[Any]:
        """Yield suspects, of all pages if the parameters have no limit."""
        return self._pages("/suspects", "suspects", parameters)

    def _pages(self, path: str, name: str, parameters: Mapping[str, object]) -> Iterator[object]:
        while True:
            page = self._send("GET", path, parameters)
            yield from page[name]
            if "marker" not in page or "limit" in parameters:
                return
            parameters = {**parameters, "marker": page["marker"]}

    def _answer(self, method: str, path: str, body: object = None) -> object:
        return self._send(method, path, None, body)

    def _send(
        self, method: str, path: str, parameters: Mapping[str, object] | None, body: object = None
    ) -> Any:
        content = {} if body is None else {"json": body}
        headers = {"OpenStack-API-Version": _VERSION, "Accept": "application/json"}
        response = self._adapter.request(
            PREFIX + path,
            method,
            params=parameters,
            headers=headers,
            raise_exc=False,
            **content,
        )
        if response.status_code == 200:
            return response.json()
        error = _error(response)
        if error is None and response.status_code in (404, 405, 501):
            raise exceptions.CommandError(
                "This placement service doesn't offer it: it is OpenStack Placement, or Berth with "
                "[berth]extensions = false."
            )
        code, detail = error or ("", f"{response.status_code} {response.reason}")
        if code == _NO_CANDIDATE:
            raise NoCandidateFound(detail)
        if response.status_code == 400:
            refuse(detail)
        raise exceptions.CommandError(f"{detail} (HTTP {response.status_code})")


def _error(response: Any) -> tuple[str, str] | None:
    """Return code and detail of placement's error; None for an answer that says nothing."""
    try:
        (error, *_) = response.json()["errors"]
        detail = escaped(" ".join(str(error["detail"]).split()))
    except (ValueError, LookupError, TypeError):
        return None
    if response.status_code == 404 and detail == "The resource could not be found.":
        return None
    for sentence in _OF_EVERY_ERROR:
        detail = detail.rpartition(sentence)[2]
    return str(error.get("code", "")), detail


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
