"""Read the files of contrib/, and adapt them to this machine."""

from collections.abc import Mapping
from pathlib import Path

CONTRIB = Path(__file__).parents[2] / "contrib"


def text_of(name: str) -> str:
    """Return the text of a file of contrib/."""
    return (CONTRIB / name).read_text(encoding="utf-8")


def adapted(name: str, ours: Mapping[str, str]) -> str:
    """Return the file's text, with what it says replaced by what holds on this machine.

    Each key of `ours` must be in the text, so that no test adapts what the file doesn't say.
    """
    text = text_of(name)
    for said, instead in ours.items():
        assert said in text, f"contrib/{name} doesn't say {said!r}"
        text = text.replace(said, instead)
    return text
