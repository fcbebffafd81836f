"""The flavor and the image of a guest, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compute.records.instance import Flavor
from compute.requests.reading.image import ImageProperties
from compute.requests.reading.refusal import odds, one_of
from compute.requests.reading.values import is_true


@dataclass(frozen=True)
class Asked:
    """What a guest is made of. `image` has no properties if it isn't known."""

    flavor: Flavor
    image: ImageProperties
    image_known: bool = True

    @property
    def specs(self) -> Mapping[str, str]:
        """The flavor's extra specs."""
        return self.flavor.extra_specs

    def both(self, name: str) -> tuple[str | None, Any]:
        """Return `hw:NAME` of the flavor and `hw_NAME` of the image."""
        return self.specs.get(f"hw:{name}"), self.image.get(f"hw_{name}")

    def one(self, name: str, allowed: tuple[str, ...], prefix: str = "hw") -> str | None:
        """Return the value that the flavor or the image has; raise Refused if they differ."""
        spec, prop = f"{prefix}:{name}", f"{prefix}_{name}"
        ours, theirs = self.specs.get(spec), self.image.get(prop)
        if ours and theirs is not None and ours != theirs:
            raise odds(spec, ours, prop, theirs)
        value: str | None = ours or theirs
        if value:
            one_of(spec if ours else prop, value, allowed)
        return value or None

    def switch(self, name: str) -> bool:
        """Return a boolean that the flavor or the image has; raise Refused if they differ."""
        ours, theirs = self.both(name)
        if ours is None:
            return bool(theirs)
        if theirs is not None and is_true(ours) != theirs:
            raise odds(f"hw:{name}", ours, f"hw_{name}", theirs)
        return is_true(ours)
