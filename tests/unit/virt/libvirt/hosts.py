"""XML of libvirt's test hypervisor, and what a tree has below its node."""

from tests.unit.virt.node.hosts import TYPE, mdev_uuid


def node_xml(*parts, cpus=8, memory_mb=16384):
    """Return a file for test:////<file>. Processors 0, 2 and 4 are online in any case."""
    return (
        "<node><cpu><mhz>2400</mhz><model>x86_64</model>"
        f"<active>{cpus}</active><nodes>1</nodes><sockets>1</sockets><cores>{cpus}</cores>"
        f"<threads>1</threads></cpu><memory>{memory_mb * 1024}</memory>{''.join(parts)}</node>"
    )


COMPUTER = (
    "<device><name>computer</name><capability type='system'><hardware><vendor>x</vendor>"
    "<serial>1</serial><uuid>4c4c4544-0000-1010-8038-000000000001</uuid></hardware><firmware/>"
    "</capability></device>"
)


def gpu_xml(bus, creatable, kind=TYPE, numa_node=None):
    node = "" if numa_node is None else f"<numa node='{numa_node}'/>"
    return (
        f"<device><name>pci_0000_{bus:02x}_00_0</name><parent>computer</parent>"
        f"<capability type='pci'><domain>0</domain><bus>{bus}</bus><slot>0</slot>"
        "<function>0</function><product id='0x1db6'/><vendor id='0x10de'/>"
        f"<capability type='mdev_types'><type id='{kind}'><name>GRID</name>"
        f"<deviceAPI>vfio-pci</deviceAPI><availableInstances>{creatable}</availableInstances>"
        f"</type></capability>{node}</capability></device>"
    )


def mdev_xml(number, parent, kind=TYPE):
    return (
        f"<device><name>mdev_{mdev_uuid(number).replace('-', '_')}</name><parent>{parent}</parent>"
        f"<capability type='mdev'><type id='{kind}'/><uuid>{mdev_uuid(number)}</uuid>"
        "<iommuGroup number='1'/></capability></device>"
    )


def card_xml(interface, bus, functions, numa_node=0):
    """Return a network card, its virtual functions, and its interface."""
    addresses = "".join(
        f"<address domain='0x0000' bus='{bus:#04x}' slot='0x10' function='{n:#x}'/>"
        for n in range(functions)
    )
    virtual = "".join(
        f"<device><name>pci_0000_{bus:02x}_10_{n}</name><parent>computer</parent>"
        f"<capability type='pci'><domain>0</domain><bus>{bus}</bus><slot>16</slot>"
        f"<function>{n}</function><product id='0x10ed'/><vendor id='0x8086'/>"
        f"<capability type='phys_function'><address domain='0x0000' bus='{bus:#04x}' slot='0x00' "
        f"function='0x0'/></capability><numa node='{numa_node}'/></capability></device>"
        for n in range(functions)
    )
    return (
        f"<device><name>pci_0000_{bus:02x}_00_0</name><parent>computer</parent>"
        f"<capability type='pci'><domain>0</domain><bus>{bus}</bus><slot>0</slot>"
        "<function>0</function><product id='0x10fb'/><vendor id='0x8086'/>"
        f"<capability type='virt_functions' maxCount='63'>{addresses}</capability>"
        f"<numa node='{numa_node}'/></capability></device>{virtual}"
        f"<device><name>net_{interface}</name><parent>pci_0000_{bus:02x}_00_0</parent>"
        f"<capability type='net'><interface>{interface}</interface></capability></device>"
    )


def guest_xml(uuid, name="guest", vcpus=2, memory_mb=1024, pins=(), cell=None, devices=""):
    """Return a guest; `pins` are the host's processors for each of its own."""
    tune = "".join(f"<vcpupin vcpu='{n}' cpuset='{cpus}'/>" for n, cpus in enumerate(pins))
    memory = f"<numatune><memory mode='strict' nodeset='{cell}'/></numatune>"
    return (
        f"<domain type='test'><name>{name}</name><uuid>{uuid}</uuid>"
        f"<memory unit='MiB'>{memory_mb}</memory><vcpu placement='static'>{vcpus}</vcpu>"
        f"{f'<cputune>{tune}</cputune>' if pins else ''}{'' if cell is None else memory}"
        f"<os><type arch='x86_64'>hvm</type></os><devices>{devices}</devices></domain>"
    )


def mdev_of_guest_xml(number):
    return (
        "<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'><source>"
        f"<address uuid='{mdev_uuid(number)}'/></source></hostdev>"
    )


def function_of_guest_xml(bus, function):
    return (
        "<interface type='hostdev' managed='yes'><source><address type='pci' domain='0x0000' "
        f"bus='{bus:#04x}' slot='0x10' function='{function:#x}'/></source></interface>"
    )


def vdpa_xml(number, parent):
    """Return the vDPA device of a function, which guests get by a path."""
    return (
        f"<device><name>vdpa_vdpa{number}</name><parent>{parent}</parent><capability type='vdpa'>"
        f"<chardev>/dev/vhost-vdpa-{number}</chardev></capability></device>"
    )


def vdpa_of_guest_xml(number):
    return (
        "<interface type='vdpa'><mac address='52:54:00:94:43:67'/>"
        f"<source dev='/dev/vhost-vdpa-{number}'/><model type='virtio'/></interface>"
    )


def capabilities_xml(cells=((0, "0-3", 8192), (1, "4-7", 8192)), cpu="", threads=1):
    """Host capabilities. `cells` are (id, CPUs as first-last, MiB)."""
    described = ""
    for number, cpus, memory_mb in cells:
        first, last = map(int, cpus.split("-"))
        each = "".join(
            f"<cpu id='{n}' socket_id='0' die_id='0' core_id='{n}' siblings='{n}'/>"
            for n in range(first, last + 1)
        )
        described += (
            f"<cell id='{number}'><memory unit='KiB'>{memory_mb * 1024}</memory>"
            f"<cpus num='{last - first + 1}'>{each}</cpus></cell>"
        )
    return (
        f"<capabilities><host><cpu><arch>x86_64</arch>{cpu}"
        f"<topology sockets='1' dies='1' cores='4' threads='{threads}'/></cpu>"
        f"<topology><cells num='{len(cells)}'>{described}</cells></topology></host></capabilities>"
    )


def children(tree):
    """name without the node's → inventory"""
    below = (tree.data(uuid) for uuid in tree.get_provider_uuids("host1")[1:])
    return {one.name.removeprefix("host1_"): one.inventory for one in below}
