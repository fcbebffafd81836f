"""The examples of a page: commands in bash, and the JSON that they print, by the same name."""

import json

from tests import readme_commands
from tests.page_code import files_of

MARK = "--- "
ANY = "…"


def run_all(page, url):
    """Run the page's commands in one shell; return what each example printed."""
    examples = files_of(page, "bash").items()
    parts = [f"echo '{MARK}{name}'\n{commands}" for name, commands in examples]
    said = readme_commands.run("\n".join(parts), url)
    printed = {}
    for part in said.split(MARK)[1:]:
        name, _, output = part.partition("\n")
        printed[name] = output
    return printed


def values(text):
    """Return the JSON values that follow each other in a text."""
    decoder, found, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at = len(text) - len(text[at:].lstrip())
    return found


def fits(shown, actual):
    """Compare a value of the page with an answer."""
    if shown == ANY:
        return True
    if isinstance(shown, dict) and isinstance(actual, dict):
        return shown.keys() == actual.keys() and all(fits(shown[k], actual[k]) for k in shown)
    if isinstance(shown, list) and isinstance(actual, list):
        count = len(actual) if shown == [ANY] else len(shown)
        return len(actual) == count and all(map(fits, shown, actual))
    return shown == actual


def unlike(page, printed):
    """Return (name, shown, printed) of the first example that prints something else, or None."""
    for name, text in files_of(page, "json").items():
        shown, found = values(text), values(printed[name])
        pairs = zip(shown, found, strict=False)
        if len(shown) != len(found) or not all(fits(*pair) for pair in pairs):
            return name, shown, found
    return None
