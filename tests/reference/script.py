"""A request of a script, which can be read, replayed, and sent to both services.

If a request depends on state, its text has placeholders for values. They are filled in when the
request is sent, so that the request still makes sense if earlier requests are removed:

`${generation:UUID}`            the generation of a provider
`${generation:UUID:1}`          the same, one too high
`${consumer_generation:UUID}`   the generation of a consumer; null if it doesn't exist
`${made:LABEL}`                 the uuid that the service generated for the provider of this label
"""

import dataclasses
import json
import re
import shlex
import string
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

JSON_TYPE = "application/json"
#: headers of all requests that don't set them
SENDER = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
PLACEHOLDER = re.compile(r"\$\{(\w+):([^}:]+)(?::(-?\d+))?\}")


class Facts(Protocol):
    """The values for placeholders."""

    @property
    def made(self) -> Mapping[str, str]:
        """Uuids by label."""

    def generation(self, kind: str, uuid: str) -> int | None:
        """Return the generation of a provider (kind `generation`) or of a consumer."""


@dataclasses.dataclass(frozen=True)
class Request:
    """One request of a script.

    :param body: sent as JSON; a str is sent unchanged; None: no body
    :param version: for the microversion header, after `placement `; None: no such header
    :param headers: in addition to SENDER's; None removes a header
    :param label: name for the uuid in the response's Location, for `${made:LABEL}`
    """

    method: str
    path: str
    body: Any = None
    version: str | None = None
    headers: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    label: str | None = None

    def with_headers(self, **headers: str | None) -> "Request":
        """Return the request with more headers; underscores become dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return dataclasses.replace(self, headers={**self.headers, **named})

    def all_headers(self) -> dict[str, str]:
        """Return the headers to send, without Content-Length."""
        headers: dict[str, str | None] = dict(SENDER)
        if self.version is not None:
            headers["OpenStack-API-Version"] = f"placement {self.version}"
        if self.body is not None:
            headers["Content-Type"] = JSON_TYPE
        headers.update(self.headers)
        return {name: value for name, value in headers.items() if value is not None}

    def text(self) -> str | None:
        """Return the body as sent, with its placeholders."""
        if self.body is None or isinstance(self.body, str):
            return self.body
        return json.dumps(self.body)

    def filled_in(self, facts: Facts) -> "Request":
        """Return the request with values for its placeholders."""
        # a name may contain a newline; what is encoded already stays unchanged
        path = quote(str(fill_in(self.path, facts)), safe=string.punctuation)
        return dataclasses.replace(self, path=path, body=fill_in(self.body, facts))

    def as_curl(self) -> str:
        """Return the request as a command line; `$URL` is the URL of the service."""
        words = ["curl", "-sS", "-X", self.method]
        for name, value in self.all_headers().items():
            words += ["-H", f"{name}: {value}" if value else f"{name};"]
        text = self.text()
        if text is not None:
            words += ["--data-binary", text]
        return f'{shlex.join(words)} "$URL"{shlex.quote(self.path)}'

    def as_line(self) -> str:
        """Return the request as a line of a script file."""
        fields = dataclasses.asdict(self)
        defaults: dict[str, Any] = {"body": None, "version": None, "headers": {}, "label": None}
        return json.dumps(
            {k: v for k, v in fields.items() if k not in defaults or v != defaults[k]}
        )

    @classmethod
    def from_line(cls, line: str) -> "Request":
        """Return the request in a line of a script file."""
        return cls(**json.loads(line))


def fill_in(value: Any, facts: Facts) -> Any:
    """Replace the placeholders in a text or JSON value."""
    if isinstance(value, dict):
        return {fill_in(k, facts): fill_in(v, facts) for k, v in value.items()}
    if isinstance(value, list):
        return [fill_in(item, facts) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    value = re.sub(r"\$\{made:([^}]+)\}", lambda found: facts.made.get(found[1], found[1]), value)
    whole = PLACEHOLDER.fullmatch(value)
    if whole is None:
        return PLACEHOLDER.sub(lambda found: json.dumps(_generation(found, facts)), value)
    return _generation(whole, facts)


def _generation(found: re.Match[str], facts: Facts) -> int | None:
    kind, uuid, off = found.groups()
    known = facts.generation(kind, uuid)
    return known if off is None else (known or 0) + int(off)


def generation_of(uuid: str, off: int = 0) -> str:
    """Return the placeholder for a provider's generation."""
    return f"${{generation:{uuid}:{off}}}" if off else f"${{generation:{uuid}}}"


def consumer_generation_of(uuid: str, off: int = 0) -> str:
    """Return the placeholder for a consumer's generation."""
    return f"${{consumer_generation:{uuid}:{off}}}" if off else f"${{consumer_generation:{uuid}}}"
