"""What a driver reports of a node's resources, made complete (compute.md §4.2)."""

import socket

from compute import exceptions
from compute.driver import ServiceDriver
from compute.records.compute_node import missing_resources
from compute.records.node_identity import NodeIdentity


def ask_driver(driver: ServiceDriver, nodename: str, identity: NodeIdentity) -> dict[str, object]:
    """Return the driver's resource dict, with what a driver may leave out filled in.

    :param identity: tells the node's uuid, if the driver doesn't; its file may be made then

    Raises InvalidInput if the driver leaves out a required key.
    """
    resources = dict(driver.get_available_resource(nodename))
    missing = missing_resources(resources)
    if missing:
        raise exceptions.InvalidInput(
            reason=f"the driver doesn't tell {', '.join(missing)} of node {nodename}"
        )
    resources["hypervisor_hostname"] = nodename
    resources["cpu_info"] = resources["cpu_info"] or ""
    if not resources.get("uuid"):
        resources["uuid"] = identity.read_or_create()
    return resources


def local_address() -> str:
    """Return the address of the interface with the default route, or 127.0.0.1 without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing: it only looks up the route. The address
            # is from a range for documentation, so it is that of no real machine.
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"
