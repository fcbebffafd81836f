"""The page's modules as one script, which means the same to a browser and costs it a tenth.

Each window of a test would load eighty modules. The page is as operators get it in
`test_sessions.py: test_a_service_may_go_and_come_back` and in `test_files.py`.
"""

import functools
import posixpath
import re

from placement.extensions.page.files import page_files
from tests.browsing import PATIENCE_MS

FIRST = "main.js"
#: milliseconds that are too few on a busy machine: a button tells that its text was copied, and an
#: answer must be there
MOMENTS = ("const COPIED = 1500;", "const PATIENCE = 60_000;")
#: what a module says of others: the page's modules say it in these two ways alone
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.M)
EXPORT = re.compile(r"^export ((?:(?:async )?function\*?|class|const) (\w+))", re.M)
OTHERS = re.compile(r"^(import|export)\b.*|\bimport\(|\bimport\.meta\b", re.M)


@functools.cache
def script():
    """Return the script: each module is a function, called once, that returns what it exports."""
    made = {}

    def make(name):
        if name in made:
            assert made[name], f"{name} imports itself, through others"
            return
        made[name] = ""
        folder = posixpath.dirname(name)

        def take(found):
            wanted = posixpath.normpath(posixpath.join(folder, found[2]))
            make(wanted)
            return f"const {{{found[1].replace(' as ', ': ')}}} = {_called(wanted)};"

        text = IMPORT.sub(take, page_files()[name].content.decode())
        names = ", ".join(found[2] for found in EXPORT.finditer(text))
        text = EXPORT.sub(r"\1", text)
        assert not OTHERS.search(text), OTHERS.search(text)
        # set last: a script's order is that of this dictionary
        del made[name]
        made[name] = f"const {_called(name)} = (() => {{\n{text}\nreturn {{ {names} }};\n}})();\n"

    make(FIRST)
    text = "".join(made.values())
    for moment in MOMENTS:
        assert text.count(moment) == 1, moment
        text = text.replace(moment, f"{moment.partition(' = ')[0]} = {PATIENCE_MS};")
    return text.encode()


def _called(name):
    return "_" + re.sub(r"\W", "_", name)
