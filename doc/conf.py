"""How Sphinx builds these pages: `tox -e docs`.

The pages link to each other as files, by the name of the file and the section, so that they also
read well where a code host shows them. Here such links become links between built pages, and files
of the repository become downloads.
"""

import configparser
import functools
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.directives.code import CodeBlock
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

LOG = logging.getLogger(__name__)
DOC = Path(__file__).parent
ROOT = DOC.parent

project = "Berth"
author = copyright = "Berth contributors"
_setup = configparser.ConfigParser()
_setup.read(ROOT / "setup.cfg")
version = release = _setup["metadata"]["version"]
extensions = ["myst_parser", "oslo_config.sphinxext", "oslo_policy.sphinxext", "sphinx_copybutton"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["releases/changes"]
root_doc = "index"
nitpicky = True
# blocks without a language are shown as they are
highlight_language = "none"
# sketches of bodies in the specification have `…`, which is no JSON
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_title = f"Berth {release}"
html_show_sphinx = False
html_copy_source = False
# the pages' own links say what they lead to
myst_heading_anchors = 4
#: files that a page includes, by the page
INCLUDED = {"readme": ROOT}


class FileLinks(SphinxTransform):
    """Make links to files of the repository links between pages, or downloads."""

    # before Sphinx looks for what references mean
    default_priority = 5

    def apply(self, **options: Any) -> None:
        """Replace each link of the page, and find the pictures of an included file."""
        if self.env.docname in INCLUDED:
            for picture in self.document.findall(nodes.image):
                file = INCLUDED[self.env.docname] / picture["uri"]
                picture["uri"] = "/" + os.path.relpath(file, DOC)
        for reference in list(self.document.findall(nodes.reference)):
            target = urlsplit(reference.get("refuri", ""))
            if target.scheme:
                continue
            if target.path:
                reference.replace_self(self._resolved(reference, target.path, target.fragment))
            elif target.fragment:
                self._to_section(reference, self.env.docname, target.fragment)

    def _resolved(self, reference: nodes.reference, path: str, section: str) -> nodes.Element:
        folder = INCLUDED.get(self.env.docname, (DOC / self.env.docname).parent)
        file = Path(os.path.normpath(folder / path))
        page = "/readme" if file == ROOT / "README.rst" else None
        if page is None and file.suffix in source_suffix and DOC in file.parents:
            page = "/" + str(file.relative_to(DOC).with_suffix(""))
        text = nodes.inline("", "", *reference.children)
        if page is None:
            if not file.is_file():
                LOG.warning("no file %s", path, location=reference)
            target = os.path.relpath(file, DOC)
            return addnodes.download_reference("", "", text, reftarget=f"/{target}", refdoc="")
        wanted = {"reftype": "section" if section else "doc", "refexplicit": True}
        if not section:
            return addnodes.pending_xref(
                "", text, refdomain="std", reftarget=page, refdoc=self.env.docname, **wanted
            )
        return self._to_section(reference, page[1:], section)

    def _to_section(self, reference: nodes.reference, page: str, section: str) -> nodes.Element:
        """Leave the link for :func:`relative`, which knows the sections of all pages."""
        reference["refuri"] = f"{page}#{section}"
        reference["berth_section"] = True
        return reference


def relative(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give links to sections the address of their page, and warn of those that lead nowhere."""
    for reference in doctree.findall(nodes.reference):
        if not reference.get("berth_section"):
            continue
        page, _, section = reference["refuri"].partition("#")
        if page not in app.env.found_docs:
            LOG.warning("no page %s", page, location=reference)
            continue
        if section not in sections(app, page):
            LOG.warning("no section %s in %s", section, page, location=reference)
        reference["refuri"] = app.builder.get_relative_uri(docname, page) + f"#{section}"


@functools.cache
def sections(app: Sphinx, page: str) -> set[str]:
    """Return the ids that a built page has."""
    elements = app.env.get_doctree(page).findall(nodes.Element)
    # the name of a link with a text is an id, too, but of nothing that a built page shows; it takes
    # the id of a section with the same title
    return {each for one in elements if "refuri" not in one for each in one["ids"]}


class Block(CodeBlock):
    """A block of code. Names of blocks are for the tests, which pair a request with its answer.

    Options of a block stand one column left of its code. They would leave a blank before each line.
    """

    def run(self) -> list[nodes.Node]:
        """Return the block without its name, and without that blank."""
        self.options.pop("name", None)
        self.options.setdefault("dedent", None)
        return super().run()


def setup(app: Sphinx) -> dict[str, Any]:
    """Add what these pages need beyond Sphinx."""
    app.add_transform(FileLinks)
    app.add_directive("code-block", Block, override=True)
    app.connect("doctree-resolved", relative)
    return {"parallel_read_safe": True}
