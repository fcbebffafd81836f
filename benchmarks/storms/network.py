"""A network of this machine's own: hosts in namespaces, whose cables can be pulled and plugged.

All addresses are from the ranges for documentation (RFC 5737), and exist inside the namespaces
only. What a pulled cable carried is dropped without a word, as by a broken switch: both ends still
think that they are connected. It needs root, and Debian's package ``iproute2``.
"""

import contextlib
import ctypes
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

#: the networks by name: the first three bytes of their addresses
NETS = {"clients": "192.0.2", "cluster": "198.51.100"}
_NEW_NETWORK = 0x40000000
_NAMESPACES = Path("/run/netns")


class Network:
    """Hosts `0 … count - 1` on two networks; this process and its children are on the first one.

    Clients of the hosts reach them by `clients`, the hosts each other by `cluster`.

    :param name: begins the names of the namespaces, which no other program may use
    """

    def __init__(self, name: str, count: int) -> None:
        self._hub = f"{name}-hub"
        self._hosts = [f"{name}-{number}" for number in range(count)]
        self._outside = os.open("/proc/self/ns/net", os.O_RDONLY)

    def make(self) -> None:
        """Make the namespaces and the cables; move this process into the hub."""
        for namespace in (self._hub, *self._hosts):
            _ip(f"netns add {namespace}")
            _ip(f"-n {namespace} link set lo up")
        for net in NETS:
            _ip(f"-n {self._hub} link add {net} type bridge")
            _ip(f"-n {self._hub} link set {net} up")
        _ip(f"-n {self._hub} addr add {NETS['clients']}.1/24 dev clients")
        for number, host in enumerate(self._hosts):
            for net in NETS:
                port = _port(net, number)
                _ip(f"-n {self._hub} link add {port} type veth peer name {net} netns {host}")
                _ip(f"-n {host} addr add {self.address(number, net)}/24 dev {net}")
                _ip(f"-n {host} link set {net} up")
                _ip(f"-n {self._hub} link set {port} master {net} up")
        _enter(self._hub)

    def address(self, number: int, net: str) -> str:
        """Return the address of a host."""
        return f"{NETS[net]}.{10 + number}"

    @contextlib.contextmanager
    def on(self, number: int) -> Iterator[None]:
        """Make processes that are started in this block, by this thread, run on a host."""
        _enter(self._hosts[number])
        try:
            yield
        finally:
            _enter(self._hub)

    def pull(self, number: int, *nets: str) -> None:
        """Drop from now on what a host sends and is sent on these networks."""
        for net in nets:
            _ip(f"-n {self._hub} link set {_port(net, number)} nomaster")

    def plug(self, number: int, *nets: str) -> None:
        """Connect a host with these networks again."""
        for net in nets:
            _ip(f"-n {self._hub} link set {_port(net, number)} master {net}")

    def close(self) -> None:
        """Leave and remove the namespaces; what still runs in them keeps them alive until it ends.

        Call it in the thread that called `make`.
        """
        _set_network(self._outside)
        os.close(self._outside)
        for namespace in (self._hub, *self._hosts):
            if (_NAMESPACES / namespace).exists():
                _ip(f"netns delete {namespace}")


def _port(net: str, number: int) -> str:
    return f"{net}{number}"


def _ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True)


def _enter(namespace: str) -> None:
    """Move the calling thread; threads and processes that it starts later are there, too."""
    found = os.open(_NAMESPACES / namespace, os.O_RDONLY)
    try:
        _set_network(found)
    finally:
        os.close(found)


def _set_network(descriptor: int) -> None:
    # Python has os.setns from 3.12 on
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} ({threading.current_thread().name})")
