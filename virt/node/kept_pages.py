"""The huge pages that guests don't get: option reserved_huge_pages."""

import re
from collections.abc import Mapping, Sequence

from oslo_config import cfg

from compute import exceptions

#: (cell, size in KiB) → how many pages
KeptPages = Mapping[tuple[int, int], int]

_UNITS = {"": 1, "K": 1, "M": 1024, "G": 1024 * 1024}
_SIZE = re.compile(r"(\d+) *(?:([KMG])(?:i?B)?)?", re.IGNORECASE)


def kept_pages(conf: cfg.ConfigOpts) -> KeptPages:
    """Return what the option says; raises InvalidConfiguration if it can't be read."""
    said: Sequence[Mapping[str, str]] = conf.reserved_huge_pages or ()
    kept = {}
    for one in said:
        size = _SIZE.fullmatch(one.get("size", ""))
        try:
            if size is None:
                raise ValueError("its size is no number with KB, MB, GB or nothing behind it")
            kib = int(size[1]) * _UNITS[(size[2] or "").upper()]
            count = int(one["count"])
            if count < 0:
                raise ValueError("its count is less than 0")
            kept[int(one["node"]), kib] = count
        except (KeyError, ValueError) as error:
            raise exceptions.InvalidConfiguration(
                f"reserved_huge_pages: can't read {dict(one)}, which should be like "
                f"node:0,size:2048,count:64: {error}"
            ) from error
    return kept
