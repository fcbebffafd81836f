"""The document as text, made once for each version."""

import dataclasses
import hashlib
import json
import threading
import zlib

from placement.features import Api
from placement.http.environ import JSON
from placement.microversions import Version


@dataclasses.dataclass(frozen=True)
class Description:
    """The text of a document.

    :param tag: a short text that only this document has, in all workers
    :param packed: the text in UTF-8, compressed
    """

    tag: str
    packed: bytes

    @property
    def text(self) -> str:
        """The whole text."""
        return zlib.decompress(self.packed).decode()


class Texts:
    """The texts of a service's document. They are kept: there are as many as versions and forms.

    :param api: what the service answers
    :param server: the service's URL; a relative one is seen from where the document is
    """

    def __init__(self, api: Api, server: str = "/") -> None:
        self._api = api
        self._server = server
        self._made: dict[tuple[Version | None, str], Description] = {}
        self._lock = threading.Lock()

    def of(self, version: Version | None, form: str = JSON) -> Description:
        """Return the document of a version, or of all (None), as JSON or YAML."""
        with self._lock:
            # one at a time: each takes the interpreter for a while
            return self._of(version, form)

    def _of(self, version: Version | None, form: str) -> Description:
        kept = self._made.get((version, form))
        if kept is None:
            # which takes longer to make than to write
            if form == JSON:
                found = self._document(version)
            else:
                found = json.loads(self._of(version, JSON).text)
            made = as_text(found, form).encode()
            tag = hashlib.sha256(made).hexdigest()[:16]
            kept = self._made[version, form] = Description(tag, zlib.compress(made))
        return kept

    def _document(self, version: Version | None) -> object:
        # imported here because most services are never asked
        from placement.extensions.openapi.document import document

        return document(self._api, version) | {"servers": [{"url": self._server}]}


def as_text(found: object, form: str) -> str:
    """Return a document as indented JSON or as YAML."""
    text = json.dumps(found, indent=1) + "\n"
    if form == JSON:
        return text
    import yaml

    # libyaml's, where PyYAML has it, is ten times faster
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    # values that are read from text aren't shared, so YAML needs no anchors
    dumped: str = yaml.dump(
        json.loads(text), Dumper=dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return dumped
