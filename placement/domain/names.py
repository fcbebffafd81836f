"""The valid names of resource classes and traits (rest-api.md 1.13)."""

import re

CUSTOM_PREFIX = "CUSTOM_"
MAX_NAME = 255
#: ids of custom resource classes start here; standard classes have lower ids (rest-api.md 6.3)
FIRST_CUSTOM_CLASS_ID = 10000

#: pattern of the names that users may choose
CUSTOM = f"^{CUSTOM_PREFIX}[A-Z0-9_]+$"
_CUSTOM = re.compile(CUSTOM)


def is_custom(name: str) -> bool:
    """Return whether the name has the prefix of custom classes and traits."""
    return name.startswith(CUSTOM_PREFIX)


def is_valid_custom(name: str) -> bool:
    """Return whether the name is valid for a custom class or trait."""
    return len(name) <= MAX_NAME and _CUSTOM.match(name) is not None
