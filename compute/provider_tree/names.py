"""Names of the providers below a node's root: `<node>_<what it is>`.

They are unique in a cloud because a node's name is, and a driver finds its providers again by them.
Placement takes names of up to 200 characters. If a node's name leaves too little room, a digest
replaces its end, so that the whole stays unique, the same each time, and readable.
"""

import hashlib

#: characters in a provider's name
LONGEST = 200

#: how the name begins of a root that is being adopted, and has not yet all that it is to have
ADOPTING = "adopting-"

_DIGITS = 16
_MARK = "~"
# So many characters of a suffix that is itself too long are kept.
_SUFFIX = 120


def child_name(nodename: str, suffix: str, separator: str = "_") -> str:
    """Return the name of a provider below a node's root, e.g. `compute1_numa0`.

    If that would be too long: `<beginning of the node's name>~<digest of it>_<suffix>`, which has
    exactly 200 characters.
    """
    name = f"{nodename}{separator}{suffix}"
    if len(name) <= LONGEST:
        return name
    if len(suffix) > _SUFFIX:
        suffix = f"{suffix[: _SUFFIX - _DIGITS - 1]}{_MARK}{_digest(suffix)}"
    end = f"{_MARK}{_digest(nodename)}{separator}{suffix}"
    return nodename[: LONGEST - len(end)] + end


def child_suffix(nodename: str, name: str) -> str | None:
    """Return the suffix from which child_name made `name`; None if it didn't make it."""
    beginning = f"{nodename}_"
    if name.startswith(beginning):
        return name.removeprefix(beginning)
    _, mark, suffix = name.partition(f"{_MARK}{_digest(nodename)}_")
    return suffix if mark and child_name(nodename, suffix) == name else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
