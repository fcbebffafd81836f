"""Which of a host's devices its hypervisor has given to guests, whatever placement says."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from compute.consumers.running import RunningGuests
from compute.provider_tree.names import child_suffix

_ADDRESS = re.compile(r"[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]")


class RunningDevices:
    """Asks the driver of this host, when somebody wants to know.

    :param nodenames: of this host; only its driver can tell who has its devices
    :param load_driver: gives the driver
    """

    def __init__(self, nodenames: Collection[str], load_driver: Callable[[], object]) -> None:
        self._nodenames = nodenames
        self._running = RunningGuests(load_driver)
        self._found: dict[str, str] | None = None
        self._is_asked = False

    def forget(self) -> None:
        """Have the next question ask the driver anew."""
        self._running.forget()
        self._is_asked = False

    def of(self, name: str) -> tuple[str | None, str]:
        """Return the guest that has the device of the provider `name`, and why nobody can tell.

        The reason is empty if somebody can.
        """
        suffixes = [child_suffix(node, name) or "" for node in self._nodenames]
        address = next((one for one in suffixes if _ADDRESS.fullmatch(one)), None)
        if address is None:
            return None, "no device of a node of this host is called so: its own host can tell"
        if not self._is_asked:
            self._found = self._running.devices()
            self._is_asked = True
        if self._found is None:
            return None, self._running.doubt
        return self._found.get(address.lower()), ""
