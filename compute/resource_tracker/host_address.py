"""The address of this host, when nobody configured it."""

import socket


def local_address() -> str:
    """Return the address of the interface with the default route, or 127.0.0.1 without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing: it only looks up the route. The address
            # is from the range for documentation.
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"
