"""What nova's API or scheduler refuses."""

from collections.abc import Iterable


class Refused(Exception):
    """Nova would not schedule such a guest; the text is one sentence that says why."""


def one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    """Refuse a value that isn't allowed."""
    if value not in (*allowed,):
        raise Refused(f"{name}={value} must be one of {', '.join(allowed)}.")


def odds(spec: str, value: object, name: str, other: object) -> Refused:
    """Return the refusal of an extra spec and an image property that contradict each other."""
    return Refused(f"{spec}={value} of the flavor and {name}={other} of the image are at odds.")
