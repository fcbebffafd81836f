"""Which guests the hypervisor of this host has, whatever the records say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from compute.consumers.rules import Evidence


class RunningGuests:
    """Asks the driver of this host, when somebody wants to know.

    :param load: gives the driver; what it raises is the reason why nothing is known

    `doubt` says after a question why the driver can't list its guests; it is empty if it can.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._driver: Any = None
        self._listed: frozenset[str] | None = None
        self._is_asked = False
        self.doubt = ""

    def forget(self) -> None:
        """Have the next question ask the driver anew."""
        self._is_asked = False

    def beside(self, evidence: Evidence, consumer: str) -> Evidence:
        """Return the evidence about a consumer with what the hypervisor knows of its guest."""
        guest = evidence.guest or consumer
        listed = self.listed()
        runs_here = None if listed is None else guest in listed
        return replace(evidence, runs_here=runs_here, doubt=self.doubt)

    def listed(self) -> frozenset[str] | None:
        """Return the uuids of the guests; None if the driver can't list them."""
        if not self._is_asked:
            self._listed = self._ask()
            self._is_asked = True
        return self._listed

    def devices(self) -> dict[str, str] | None:
        """Return the address of each PCI device that a guest has → the guest's uuid.

        None if the driver can't tell. Without a guest, every driver can.
        """
        guests = self.listed()
        if not guests:
            return None if guests is None else {}
        ask = getattr(self._driver, "devices_of_guests", None)
        try:
            if ask is None:
                raise NotImplementedError
            return {address.lower(): guest for guest, found in ask().items() for address in found}
        except NotImplementedError:
            self.doubt = "the node's driver can't tell which devices its guests have"
        except Exception as error:
            # The hypervisor's library may raise anything.
            self.doubt = f"the node's driver can't tell which devices its guests have: {error}"
        return None

    def _ask(self) -> frozenset[str] | None:
        try:
            driver = self._driver = self._driver or self._load()
            # A driver that derives from nova's own base class doesn't say.
            if not getattr(driver, "manages_instances", True):
                self.doubt = "the node's driver manages no instances"
                return None
            ask = getattr(driver, "all_instance_uuids", None) or driver.list_instance_uuids
            listed = frozenset(ask())
        except NotImplementedError:
            self.doubt = "the node's driver can't list its guests"
            return None
        except Exception as error:
            # The hypervisor's library may raise anything.
            self.doubt = f"the node's driver can't list its guests: {error}"
            return None
        self.doubt = ""
        return listed
