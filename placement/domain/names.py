"""What names of resource classes and traits may look like (rest-api.md 1.13)."""

import re

CUSTOM_PREFIX = "CUSTOM_"
MAX_NAME = 255
#: ids of custom resource classes start here; below are the standard ones (rest-api.md 6.3)
FIRST_CUSTOM_CLASS_ID = 10000

_CUSTOM = re.compile(r"^CUSTOM_[A-Z0-9_]+$")


def is_custom(name: str) -> bool:
    """Whether the name claims to be an operator's own."""
    return name.startswith(CUSTOM_PREFIX)


def is_valid_custom(name: str) -> bool:
    """Whether a custom class or trait may be called so."""
    return len(name) <= MAX_NAME and _CUSTOM.match(name) is not None
