"""Conversations of schemathesis with a service, as a document of the API says.

It sends valid and invalid requests to every operation, and follows the links. All of its checks are
on. What is left out stands here, each with its reason.
"""

import json
from collections.abc import Collection, Iterator
from typing import Any

import schemathesis
from schemathesis.config import ProjectConfig
from schemathesis.engine import events, from_schema

from placement.microversions import Version, name
from tests import extent

CONFIGURATION: dict[str, Any] = {
    # the boundaries have each answer that more examples lead to
    "generation": {"max-examples": extent.examples(2, 4), "deterministic": True},
    "checks": {
        "positive_data_acceptance": {
            # Placement answers 400 where a body or a query names a class, a trait or a provider
            # that doesn't exist, or contradicts itself. No schema can say that.
            "expected-statuses": ["2xx", "3xx", "400", "401", "403", "404", "409"],
        },
    },
    "operations": [
        # with noauth2 each token is a user, and every user may read the list of extensions
        {"include-name": "GET /berth/v1", "checks": {"ignored_auth": {"enabled": False}}},
        # each answer is the whole document, and takes as long as a hundred others
        {"include-name": "GET /berth/v1/openapi.json", "generation": {"max-examples": 1}},
    ],
}
#: before 1.5, DELETE of all inventories is 405 without `Allow`, and `Allow` of other answers names
#: DELETE, as OpenStack Placement has it; other endpoints are 404 before their version
BEFORE_1_5 = {
    "include-path": "/resource_providers/{uuid}/inventories",
    "checks": {
        "allow_header_conformance": {"enabled": False},
        "unsupported_method": {"enabled": False},
    },
}


class Conversation:
    """What a conversation found, and which checks it made.

    :param document: of the version
    :param url: where the service is
    :param without: paths that are left out
    :param boundaries: whether each boundary of each schema is tried, instead of examples, random
        requests and links
    """

    def __init__(
        self,
        document: Any,
        version: Version,
        url: str,
        without: Collection[str] = (),
        boundaries: bool = False,
    ) -> None:
        self.found: list[str] = []
        self.checks: set[str] = set()
        schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document)))
        if without:
            schema = schema.exclude(path=list(without))
        left_out = [*CONFIGURATION["operations"], *([BEFORE_1_5] if version < (1, 5) else [])]
        given = ProjectConfig.from_dict(CONFIGURATION | {"operations": left_out})
        for part in ("generation", "checks", "operations"):
            setattr(schema.config, part, getattr(given, part))
        phases = schema.config.phases
        phases.coverage.enabled = boundaries
        for others in (phases.examples, phases.fuzzing, phases.stateful):
            others.enabled = not boundaries
        headers = {
            "OpenStack-API-Version": f"placement {name(version)}",
            "X-Auth-Token": "admin",
        }
        schema.config.update(base_url=url, headers=headers)
        for event in from_schema(schema).execute():
            self._read(event)

    def _read(self, event: events.EngineEvent) -> None:
        if isinstance(event, events.NonFatalError | events.FatalError):
            self.found.append(str(getattr(event, "info", event)))
        if isinstance(event, events.ScenarioFinished):
            for label, checks in event.recorder.checks.items():
                self.checks |= {check.name for check in checks}
                self.found += _failures(event.recorder.cases[label].value, checks)


def _failures(case: Any, checks: Any) -> Iterator[str]:
    """Yield what the checks of a case found, with the request that shows it."""
    for check in checks:
        if check.failure_info is not None:
            failure = check.failure_info.failure
            yield f"{check.name}: {case.as_curl_command()}: {failure.title}: {failure.message}"
