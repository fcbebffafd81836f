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


S390X_CPUINFO = (
    "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3033.00\n"
    "max thread id   : 1\nfeatures\t: esan3 zarch stfle msa ldisp eimm dfp edat vx fpu fp sie \n"
    "facilities      : 0 1 2 3 4 6 7\n"
    "cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8\n"
    "processor 0: version = FF,  identification = 0133E8,  machine = 2964\n"
    "processor 1: version = FF,  identification = 0133E8,  machine = 2964\n\n"
) + "\n".join(
    f"cpu number      : {cpu}\nphysical id     : 1\ncore id         : 0\nbook id         : 1\n"
    "siblings        : 2\ncpu cores       : 1\nversion         : FF\n"
    "identification  : 0133E8\nmachine         : 2964\ncpu MHz dynamic : 5000\n"
    for cpu in range(2)
)

POWER_CPUINFO = (
    "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2166.0MHz\n"
    "revision\t: 2.2 (pvr 004e 1202)\n\n"
    "timebase\t: 512000000\nplatform\t: PowerNV\nmodel\t\t: 8335-GTH\n"
)

RISCV_CPUINFO = (
    "processor\t: 0\nhart\t\t: 2\nisa\t\t: rv64imafdch\nmmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\n"
)

LOONGARCH_CPUINFO = (
    "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t\t: 0\n"
    "Model Name\t\t: Loongson-3A5000\nFeatures\t\t: cpucfg lam ual fpu lsx lasx crc32\n"
)

SPARC_CPUINFO = (
    "cpu\t\t: UltraSparc T2 (Niagara2)\nfpu\t\t: T2 integrated FPU\nncpus probed\t: 64\n"
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


def set_parameters(machine, **parameters):
    """Set parameters of the kernel's module for virtual machines of AMD."""
    for name, value in parameters.items():
        path = machine.sysfs / "module" / "kvm_amd" / "parameters" / name
        machine.write(path, f"{value}\n")
