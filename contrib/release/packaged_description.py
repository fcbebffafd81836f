"""README.rst as the description of the package, and the URLs of its metadata.

Links of README.rst lead to files of the repository, which a package index doesn't have. Who
releases Berth names its public place by two variables of the environment::

    BERTH_REPOSITORY_URL=https://…/berth
    BERTH_FILES_URL=https://…/berth/blob/v0.2.0

Without them links become plain text, and the metadata has no URL rather than an invented one.
"""

import os
import re
from collections.abc import Mapping

from setuptools.dist import Distribution

#: `text <target>`_, whose target is a file of the repository
_LINK = re.compile(r"`(?P<text>[^`<>]+?)\s+<(?P<target>(?![a-z]+:)[^`<>]+)>`_")
#: a picture and its options, and what only Sphinx understands
_PICTURE = re.compile(r"^\.\. (?:image|index)::.*\n(?:   .*\n)*\n?", re.M)
#: what the metadata calls a file of the repository
_FILES = {
    "Documentation": "doc/index.rst",
    "Changelog": "CHANGELOG.rst",
    "Security": "SECURITY.md",
}


def described(text: str, environ: Mapping[str, str]) -> str:
    """Return the text of README.rst with links that lead somewhere from anywhere, or none."""
    files = environ.get("BERTH_FILES_URL", "").rstrip("/")

    def absolute(link: re.Match[str]) -> str:
        words = link["text"]
        target = "".join(link["target"].split())
        return f"`{words} <{files}/{target}>`__" if files else words

    return _LINK.sub(absolute, _PICTURE.sub("", text))


def urls(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the URLs for the metadata by their names."""
    files = environ.get("BERTH_FILES_URL", "").rstrip("/")
    found = {name: f"{files}/{file}" for name, file in _FILES.items()} if files else {}
    source = environ.get("BERTH_REPOSITORY_URL")
    return {"Source": source, **found} if source else found


def install() -> None:
    """Have setuptools use both in what it builds in this process."""
    read = Distribution.parse_config_files

    def parse_config_files(self: Distribution, *args: object, **options: object) -> None:
        read(self, *args, **options)
        text = self.metadata.long_description
        if text:
            self.metadata.long_description = described(text, os.environ)
        self.metadata.project_urls = urls(os.environ)

    Distribution.parse_config_files = parse_config_files
