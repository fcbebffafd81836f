"""Which of several hosts gets a machine: the ring of hashes of the library tooz, as nova has it.

A host that changes from nova's agent to this one, or back, or stands beside one, has to have the
same machines: otherwise two hosts report one machine, and nobody another.
"""

import bisect
import hashlib
from collections.abc import Collection

#: places that each host has on the ring
_PARTITIONS = 32


class HashRing:
    """Hosts on a ring; a machine is the next host's. Few move when hosts come or go."""

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts: dict[int, str] = {}
        for host in hosts:
            place = hashlib.md5(host.encode(), usedforsecurity=False)
            for _ in range(_PARTITIONS):
                place.update(host.encode())
                self._hosts[int(place.hexdigest(), 16)] = host
        self._places = sorted(self._hosts)

    def host_of(self, node_uuid: str) -> str:
        """Return the host that gets a machine."""
        place = int(hashlib.md5(node_uuid.encode(), usedforsecurity=False).hexdigest(), 16)
        found = bisect.bisect(self._places, place) % len(self._places)
        return self._hosts[self._places[found]]
