"""A request of a script: readable, replayable, and independent of what a service makes up.

Wherever a script depends on state, its text has a placeholder that is filled in when the request
is sent, so that a request still makes sense after others before it were left out:

`${generation:UUID}`            the generation of a provider
`${generation:UUID:1}`          the same, one too high
`${consumer_generation:UUID}`   the generation of a consumer, null if there is no such consumer
`${made:LABEL}`                 the uuid that the service gave to the provider made under this label
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
#: what requests say about their sender unless they say otherwise
SENDER = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
PLACEHOLDER = re.compile(r"\$\{(\w+):([^}:]+)(?::(-?\d+))?\}")


class Facts(Protocol):
    """What placeholders stand for."""

    @property
    def made(self) -> Mapping[str, str]:
        """Uuids by label."""

    def generation(self, kind: str, uuid: str) -> int | None:
        """The generation of a provider (kind `generation`) or of a consumer."""


@dataclasses.dataclass(frozen=True)
class Request:
    """One request of a script.

    :param body: what to send as JSON; a str is sent as it is; None sends nothing
    :param version: of the microversion header, after `placement `; None leaves the header out
    :param headers: on top of the sender's; a value of None takes one away
    :param label: under which `${made:LABEL}` finds the uuid in the answer's Location, if it is new
    """

    method: str
    path: str
    body: Any = None
    version: str | None = None
    headers: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    label: str | None = None

    def with_headers(self, **headers: str | None) -> "Request":
        """The same request with more headers; underscores stand for dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return dataclasses.replace(self, headers={**self.headers, **named})

    def all_headers(self) -> dict[str, str]:
        """What to send, without Content-Length."""
        headers: dict[str, str | None] = dict(SENDER)
        if self.version is not None:
            headers["OpenStack-API-Version"] = f"placement {self.version}"
        if self.body is not None:
            headers["Content-Type"] = JSON_TYPE
        headers.update(self.headers)
        return {name: value for name, value in headers.items() if value is not None}

    def text(self) -> str | None:
        """The body as it is sent, but for its placeholders."""
        if self.body is None or isinstance(self.body, str):
            return self.body
        return json.dumps(self.body)

    def filled_in(self, facts: Facts) -> "Request":
        """The request with the facts in place of its placeholders."""
        # a name may have a newline in it; whatever is encoded already stays as it is
        path = quote(str(fill_in(self.path, facts)), safe=string.punctuation)
        return dataclasses.replace(self, path=path, body=fill_in(self.body, facts))

    def as_curl(self) -> str:
        """The request as a command line; `$URL` is where the service is."""
        words = ["curl", "-sS", "-X", self.method]
        for name, value in self.all_headers().items():
            words += ["-H", f"{name}: {value}" if value else f"{name};"]
        text = self.text()
        if text is not None:
            words += ["--data-binary", text]
        return f'{shlex.join(words)} "$URL"{shlex.quote(self.path)}'

    def as_line(self) -> str:
        """The request as a line of a script file."""
        fields = dataclasses.asdict(self)
        defaults: dict[str, Any] = {"body": None, "version": None, "headers": {}, "label": None}
        return json.dumps(
            {k: v for k, v in fields.items() if k not in defaults or v != defaults[k]}
        )

    @classmethod
    def from_line(cls, line: str) -> "Request":
        """The request of a script file's line."""
        return cls(**json.loads(line))


def fill_in(value: Any, facts: Facts) -> Any:
    """Put the facts in place of the placeholders of a text or JSON value."""
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
    """The placeholder for a provider's generation."""
    return f"${{generation:{uuid}:{off}}}" if off else f"${{generation:{uuid}}}"


def consumer_generation_of(uuid: str, off: int = 0) -> str:
    """The placeholder for a consumer's generation."""
    return f"${{consumer_generation:{uuid}:{off}}}" if off else f"${{consumer_generation:{uuid}}}"
