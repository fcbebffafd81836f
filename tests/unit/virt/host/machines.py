"""Machines laid out as files below a directory, as the kernel would show them."""

from pathlib import Path


def cpuinfo(cpus, features="fpu sse sse2 avx vmx lm ht", vendor="GenuineIntel"):
    return "\n".join(
        f"processor\t: {cpu}\nvendor_id\t: {vendor}\nmodel name\t: Some CPU\n"
        f"siblings\t: 8\ncpu cores\t: 4\nflags\t\t: {features}\npower management:\n"
        for cpu in range(cpus)
    )


ARM_CPUINFO = "\n".join(
    f"processor\t: {cpu}\nBogoMIPS\t: 50.00\n"
    "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics cpuid\n"
    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
    for cpu in range(4)
)


class Machine:
    """Writes the files; `nodes` is node id → (cpu list, memory in MiB)."""

    def __init__(self, directory: Path, online="0-7", memory_mb=16384, nodes=None):
        self.sysfs = directory / "sys"
        self.procfs = directory / "proc"
        self.system = self.sysfs / "devices" / "system"
        self.write(self.system / "cpu" / "online", f"{online}\n")
        self.write(
            self.procfs / "meminfo",
            f"MemTotal:       {memory_mb * 1024} kB\nMemFree:        {memory_mb * 256} kB\n"
            f"MemAvailable:   {memory_mb * 512} kB\nHugePages_Total:       0\n",
        )
        self.write(self.procfs / "cpuinfo", cpuinfo(8))
        for node, (cpus, node_mb) in (nodes or {}).items():
            self.add_node(node, cpus, node_mb)

    @property
    def roots(self):
        return str(self.sysfs), str(self.procfs)

    def add_node(self, node, cpus, memory_mb):
        directory = self.node_directory(node)
        self.write(directory / "cpulist", f"{cpus}\n")
        self.write(
            directory / "meminfo",
            f"Node {node} MemTotal:       {memory_mb * 1024} kB\n"
            f"Node {node} MemFree:        {memory_mb * 512} kB\n"
            f"Node {node} HugePages_Total:     0\n",
        )

    def node_directory(self, node):
        return self.system / "node" / f"node{node}"

    def set_hugepages(self, count, size_kb=2048, node=None):
        """Set pages aside on a node; None is for machines without node directories."""
        parent = self.sysfs / "kernel" / "mm" if node is None else self.node_directory(node)
        self.write(parent / "hugepages" / f"hugepages-{size_kb}kB" / "nr_hugepages", f"{count}\n")

    def pci_device(self, address):
        return self.sysfs / "bus" / "pci" / "devices" / address

    def add_pci_device(self, address, vendor="0x8086", product="0x1583", node=-1, interface=None):
        directory = self.pci_device(address)
        self.write(directory / "vendor", f"{vendor}\n")
        self.write(directory / "device", f"{product}\n")
        self.write(directory / "numa_node", f"{node}\n")
        if interface:
            (directory / "net" / interface).mkdir(parents=True)
        return directory

    def add_card(self, address, interface, total, present=0, node=-1):
        """Add a card that can have `total` virtual functions, and has `present` of them."""
        directory = self.add_pci_device(address, node=node, interface=interface)
        self.write(directory / "sriov_totalvfs", f"{total}\n")
        self.write(directory / "sriov_vf_device", "154c\n")
        for number in range(present):
            function = f"{address[:-4]}{number + 2:02x}.0"
            self.add_pci_device(function, product="0x154c", node=node)
            (directory / f"virtfn{number}").symlink_to(f"../{function}")
            (self.pci_device(function) / "physfn").symlink_to(f"../{address}")
        return directory

    def add_gpu(self, address, available, mdevs=()):
        """Add a GPU; `available` is type → how many more, `mdevs` is (uuid, type) of those made."""
        device = self.add_pci_device(address, vendor="0x10de", product="0x1eb8")
        for kind, count in available.items():
            directory = device / "mdev_supported_types" / kind
            self.write(directory / "available_instances", f"{count}\n")
            (directory / "devices").mkdir()
        for uuid, kind in mdevs:
            (device / "mdev_supported_types" / kind / "devices" / uuid).mkdir()
        bus = self.sysfs / "class" / "mdev_bus"
        bus.mkdir(parents=True, exist_ok=True)
        (bus / address).symlink_to(device)
        return device

    def add_namespace(self, device, name, size):
        """Add a namespace of persistent memory, and return its directory."""
        directory = self.sysfs / "bus" / "nd" / "devices" / device
        self.write(directory / "alt_name", f"{name}\n")
        self.write(directory / "size", f"{size}\n")
        return directory

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def two_sockets(directory):
    return Machine(
        directory, online="0-7", memory_mb=16384, nodes={0: ("0-3", 8192), 1: ("4-7", 8192)}
    )
