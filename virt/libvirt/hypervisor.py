"""The connection to libvirt. Nothing else here knows the library."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from compute import exceptions
from virt.libvirt.guest_kinds import GuestKind

_T = TypeVar("_T")

OpenConnection = Callable[[str], Any]


class Hypervisor:
    """Asks one libvirt for descriptions, opening the connection when one is needed.

    Every method raises VirtDriverNotReady, naming the URI, if libvirt can't be asked. Then the
    connection is closed, and the next call opens another one.
    """

    def __init__(self, uri: str, open_connection: OpenConnection | None = None) -> None:
        """Load the library; ImportError says what to install.

        `open_connection` replaces libvirt.open. (A read-only connection can't be asked for the
        domain capabilities.)
        """
        self.uri = uri
        self._libvirt = _library()
        self._open = open_connection or self._libvirt.open
        self._lock = threading.Lock()
        self._connection: Any = None

    def hostname(self) -> str:
        """Return what the hypervisor calls its host."""
        return self._ask(lambda connection: connection.getHostname())

    def type(self) -> str:
        """Return what kind of hypervisor it is, like `QEMU`."""
        return self._ask(lambda connection: connection.getType())

    def version(self) -> int:
        """Return its version, like 7002000."""
        return self._ask(lambda connection: connection.getVersion())

    def library_version(self) -> int:
        """Return the version of libvirt itself, like 9000000."""
        return self._ask(lambda connection: connection.getLibVersion())

    def memory_mb(self) -> int:
        """Return the memory of the host."""
        return self._ask(lambda connection: connection.getInfo()[1])

    def online_cpus(self) -> frozenset[int]:
        """Return the processors that are online."""
        _, online, _ = self._ask(lambda connection: connection.getCPUMap())
        return frozenset(cpu for cpu, is_online in enumerate(online) if is_online)

    def offline_cpus(self) -> frozenset[int]:
        """Return the processors that are there, but not online."""
        _, online, _ = self._ask(lambda connection: connection.getCPUMap())
        return frozenset(cpu for cpu, is_online in enumerate(online) if not is_online)

    def capabilities(self) -> str:
        """Return the XML that describes the host."""
        return self._ask(lambda connection: connection.getCapabilities())

    def domain_capabilities(self) -> str | None:
        """Return the XML that describes what guests can have; None if this libvirt has none."""
        return self._ask(
            lambda connection: self._unless_unsupported(connection.getDomainCapabilities)
        )

    def what_guests_can_have(self, kind: GuestKind, virt_type: str) -> str | None:
        """Return the XML that describes what such guests can have; None if there can't be any."""
        library = self._libvirt

        def ask(connection: Any) -> str | None:
            try:
                return connection.getDomainCapabilities(
                    kind.emulator, kind.architecture, kind.machine, virt_type
                )
            except library.libvirtError as error:
                # A program that is missing, or can't do that: libvirt reports it in many ways.
                if error.get_error_code() in (
                    library.VIR_ERR_NO_SUPPORT,
                    library.VIR_ERR_CONFIG_UNSUPPORTED,
                    library.VIR_ERR_INVALID_ARG,
                    library.VIR_ERR_INTERNAL_ERROR,
                    library.VIR_ERR_SYSTEM_ERROR,
                    library.VIR_ERR_OPERATION_FAILED,
                ):
                    return None
                raise

        return self._ask(ask)

    def all_features(self, cpu: str) -> str | None:
        """Return the XML of the processor `cpu` with every feature of its model written out.

        None if this hypervisor can't do that, or doesn't know the model.
        """
        flag = self._libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
        return self._ask(
            lambda connection: self._unless_unsupported(connection.baselineCPU, [cpu], flag)
        )

    def cpu_models(self, architecture: str) -> list[str] | None:
        """Return the models of processors that libvirt knows; None if it doesn't tell."""
        return self._ask(
            lambda connection: self._unless_unsupported(connection.getCPUModelNames, architecture)
        )

    def devices(self) -> dict[str, str]:
        """Return name → XML of the host's devices."""
        return self._described(
            lambda connection: connection.listAllDevices(), self._libvirt.VIR_ERR_NO_NODE_DEVICE
        )

    def defined_devices(self) -> set[str]:
        """Return the names of devices that are defined, but don't exist before they are started."""
        flag = self._libvirt.VIR_CONNECT_LIST_NODE_DEVICES_INACTIVE
        defined = self._ask(
            lambda connection: self._unless_unsupported(connection.listAllDevices, flag)
        )
        return {one.name() for one in defined or ()}

    def guests(self) -> dict[str, str]:
        """Return name → XML of the guests, whether they run or not."""
        return self._described(
            lambda connection: connection.listAllDomains(), self._libvirt.VIR_ERR_NO_DOMAIN
        )

    def _described(self, list_all: Callable[[Any], list[Any]], gone: int) -> dict[str, str]:
        def described(connection: object) -> dict[str, str]:
            texts = {}
            for one in list_all(connection):
                try:
                    texts[one.name()] = one.XMLDesc(0)
                except self._libvirt.libvirtError as error:
                    # It went away after it was listed.
                    if error.get_error_code() != gone:
                        raise
            return texts

        return self._ask(described)

    def _unless_unsupported(self, call: Callable[..., _T], *arguments: object) -> _T | None:
        library = self._libvirt
        try:
            return call(*arguments)
        except library.libvirtError as error:
            # For a model that it doesn't know, libvirt raises an internal error of its CPU code.
            unknown_model = error.get_error_domain() == library.VIR_FROM_CPU
            if unknown_model or error.get_error_code() in (
                library.VIR_ERR_NO_SUPPORT,
                library.VIR_ERR_CONFIG_UNSUPPORTED,
                library.VIR_ERR_INVALID_ARG,
            ):
                return None
            raise

    def _ask(self, question: Callable[[Any], _T]) -> _T:
        with self._lock:
            try:
                if self._connection is None or not self._connection.isAlive():
                    self._connection = None
                    self._connection = self._open(self.uri)
                return question(self._connection)
            except self._libvirt.libvirtError as error:
                self._connection = None
                # Some of libvirt's messages come on several lines.
                reason = " ".join(str(error).split())
                raise exceptions.VirtDriverNotReady(
                    f"The hypervisor at {self.uri} can't be asked: {reason}"
                ) from error


def _library() -> Any:
    try:
        import libvirt
    except ImportError as error:
        raise ImportError(
            "The libvirt driver needs the library: install Berth with its extra `libvirt` (to "
            "build it, Debian's packages libvirt-dev, pkg-config and gcc)."
        ) from error
    # Without this, the library prints every error it also raises.
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    return libvirt
