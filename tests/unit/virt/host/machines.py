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

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def two_sockets(directory):
    return Machine(
        directory, online="0-7", memory_mb=16384, nodes={0: ("0-3", 8192), 1: ("4-7", 8192)}
    )
