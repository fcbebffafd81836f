"""Gabbi fixtures: the variables that acceptance files use as `$ENVIRON['NAME']`."""

import os
import uuid

from gabbi import fixture

from placement import microversions

NAMES = (
    "ROOT",
    "CHILD",
    "GRANDCHILD",
    "SIBLING",
    "OTHER",
    "SPARE",
    "UNKNOWN",
    "AGG_A",
    "AGG_B",
    "AGG_C",
    "CONSUMER_A",
    "CONSUMER_B",
    "CONSUMER_C",
    "CONSUMER_D",
)
#: the newest microversion of the tested service; OpenStack Placement 16.0.0 has 1.39
_NEWEST = (1, 39) if os.environ.get("BERTH_GABBI_REFERENCE") else microversions.NEWEST
NEWEST = microversions.name(_NEWEST)
ABOVE_NEWEST = microversions.name((_NEWEST[0], _NEWEST[1] + 1))
NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


def spellings(name: str) -> dict[str, str]:
    """Return every spelling of the uuid called `name`, by variable name (rest-api.md 1.4).

    `NAME` is the canonical form; `NAME_UPPER`, `NAME_BARE` (no dashes), `NAME_URN` and
    `NAME_BRACED` are other spellings that the service accepts for the same uuid. The uuids are the
    same in every run, so that a failure can be repeated.
    """
    value = uuid.uuid5(NAMESPACE, name)
    return {
        name: str(value),
        f"{name}_UPPER": str(value).upper(),
        f"{name}_BARE": value.hex,
        f"{name}_URN": value.urn,
        f"{name}_BRACED": f"{{{value}}}",
    }


class Uuids(fixture.GabbiFixture):
    """Put every spelling of every name into the environment while a file runs."""

    def start_fixture(self) -> None:
        """Set the variables without saving old values: only this suite uses the names."""
        for name in NAMES:
            os.environ.update(spellings(name))

    def stop_fixture(self) -> None:
        """Remove the variables."""
        for name in NAMES:
            for variable in spellings(name):
                os.environ.pop(variable, None)


class Versions(fixture.GabbiFixture):
    """Put the newest microversion, and the next one after it, into the environment."""

    def start_fixture(self) -> None:
        """Set the variables without saving old values: only this suite uses the names."""
        os.environ.update(NEWEST=NEWEST, ABOVE_NEWEST=ABOVE_NEWEST)

    def stop_fixture(self) -> None:
        """Remove the variables."""
        for variable in ("NEWEST", "ABOVE_NEWEST"):
            os.environ.pop(variable, None)
