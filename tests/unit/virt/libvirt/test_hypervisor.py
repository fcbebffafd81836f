"""The real library, and its test hypervisors."""

import builtins
import pathlib
import re
import sys

import pytest

from compute.exceptions import VirtDriverNotReady
from tests.unit.virt.consumers import uuid
from tests.unit.virt.host.machines import set_parameters, two_sockets
from tests.unit.virt.libvirt.hosts import (
    COMPUTER,
    capabilities_xml,
    card_xml,
    gpu_xml,
    guest_xml,
    mdev_xml,
    node_xml,
    vdpa_of_guest_xml,
    vdpa_xml,
)
from tests.unit.virt.libvirt.library import Altered
from tests.unit.virt.libvirt.library import test_hypervisor_of as hypervisor_of
from tests.unit.virt.node.hosts import mdev_uuid
from virt.driver import DriverLoadError, load_driver
from virt.libvirt.guest_kinds import GuestKind
from virt.libvirt.guest_traits import GuestOptions
from virt.libvirt.hypervisor import Hypervisor
from virt.libvirt.libvirt_host_info import LibvirtHostInfo
from virt.libvirt.xml_reading import MalformedXML
from virt.node.facts import HostFactsError, MediatedDevice

HASWELL = "<model>Haswell</model><vendor>Intel</vendor><feature name='vmx'/>"


@pytest.fixture
def altered(libvirt, tmp_path):
    """Return a hypervisor on a connection that answers some questions in another way."""

    def make(uri="test:///default", **answers):
        def open_connection(asked):
            opened.append(Altered(libvirt.open(asked), **answers))
            return opened[-1]

        opened = []
        hypervisor = Hypervisor(uri, open_connection)
        hypervisor.opened = opened
        return hypervisor

    return make


def info(hypervisor, path):
    return LibvirtHostInfo(hypervisor, path, sysfs_root=path / "sys")


def raises(libvirt, code):
    def raise_(*_arguments):
        error = libvirt.libvirtError("broken")
        error.err = (code, 0, "broken", 2, None, None, None, 0, 0)
        raise error

    return raise_


def test_the_default_test_hypervisor_is_a_host_with_two_cells(libvirt, tmp_path):
    facts = info(Hypervisor("test:///default"), tmp_path).facts()
    assert (facts.hypervisor_type, facts.architecture) == ("TEST", "i686")
    assert [(len(cell.cpus), cell.memory_mb) for cell in facts.cells] == [(8, 2048), (8, 4096)]
    assert facts.guest_kinds == (("i686", "test", "hvm"), ("i686", "test", "xen"))
    assert facts.disk.total_gb > 0


def test_a_hypervisor_without_cells_has_one_with_the_online_processors(libvirt, tmp_path):
    uri = hypervisor_of(tmp_path, node_xml(memory_mb=4096))
    (cell,) = info(Hypervisor(uri), tmp_path).facts().cells
    assert (cell.id, cell.cpus, cell.memory_mb) == (0, {0, 2, 4}, 4096)


def test_the_host_in_the_manual_is_as_it_says(libvirt, tmp_path):
    manual = (pathlib.Path(__file__).parents[4] / "doc" / "driver_libvirt.rst").read_text()
    described = re.search(r"    <node>.*?</node>\n", manual, re.DOTALL)[0]
    facts = info(Hypervisor(hypervisor_of(tmp_path, described)), tmp_path).facts()
    assert (len(facts.online_cpus), facts.memory_mb) == (3, 16384)


def test_memory_that_no_cell_claims_is_with_the_first(altered, tmp_path):
    cells = ((0, "0-3", 1000), (1, "4-7", 1000))
    hypervisor = altered(getCapabilities=capabilities_xml(cells))
    facts = info(hypervisor, tmp_path).facts()
    assert facts.memory_mb == 3072
    assert [cell.memory_mb for cell in facts.cells] == [2072, 1000]


def test_devices_and_guests_are_read(libvirt, tmp_path):
    xml = node_xml(
        guest_xml(uuid(1), "first", vcpus=2),
        guest_xml(uuid(2), "second", vcpus=1),
        COMPUTER,
        gpu_xml(0x84, 2),
        mdev_xml(1, "pci_0000_84_00_0"),
        card_xml("ens1", 1, 2),
    )
    host = info(Hypervisor(hypervisor_of(tmp_path, xml)), tmp_path)
    facts = host.facts()
    assert sorted(guest.name for guest in host.guests()) == ["first", "second"]
    assert facts.creatable == {"pci_0000_84_00_0": {"nvidia-35": 2}}
    assert [one.uuid for one in facts.mediated_devices] == [mdev_uuid(1)]
    assert {one.interface for one in facts.pci_devices} == {None, "ens1"}


def test_a_guest_has_the_function_of_its_vdpa_device(libvirt, tmp_path, monkeypatch):
    guest = guest_xml(uuid(1), "first", devices=vdpa_of_guest_xml(0))
    xml = node_xml(guest, COMPUTER, card_xml("ens1", 1, 2))
    hypervisor = Hypervisor(hypervisor_of(tmp_path, xml))
    known = hypervisor.devices()
    # libvirt's test hypervisor refuses to have such devices
    known["vdpa_vdpa0"] = vdpa_xml(0, "pci_0000_01_10_1")
    monkeypatch.setattr(hypervisor, "devices", lambda: known)
    host = info(hypervisor, tmp_path)
    assert [one.pci_addresses for one in host.guests()] == [("0000:01:10.1",)]
    assert {"type-PF", "type-VF", "vdpa"} <= {one.kind for one in host.facts().pci_devices}


def test_a_models_features_are_written_out_by_libvirt(altered, tmp_path):
    features = (
        info(altered(getCapabilities=capabilities_xml(cpu=HASWELL)), tmp_path)
        .facts()
        .processor.features
    )
    assert {"vmx", "avx2", "sse4_2", "pclmulqdq"} <= features


def test_a_model_libvirt_does_not_know_has_the_features_that_are_listed(altered, tmp_path):
    cpu = HASWELL.replace("Haswell", "Unheard-of")
    hypervisor = altered(getCapabilities=capabilities_xml(cpu=cpu))
    assert info(hypervisor, tmp_path).facts().processor.features == {"vmx"}


def encryption_of(inside):
    return f"<domainCapabilities><features>{inside}</features></domainCapabilities>"


def test_memory_encryption_is_read_where_the_hypervisor_tells(altered, tmp_path):
    text = encryption_of("<sev supported='yes'><maxGuests>15</maxGuests></sev>")
    set_parameters(two_sockets(tmp_path), sev="Y", sev_es="Y")
    assert info(altered(), tmp_path).facts().encryption_slots == {}
    hypervisor = altered(getDomainCapabilities=text, getVersion=8_000_000)
    assert info(hypervisor, tmp_path).facts().encryption_slots == {"amd_sev": 15, "amd_sev_es": 0}


@pytest.mark.parametrize(("version", "slots"), [(7_002_022, {}), (8_000_000, {"amd_sev_es": 9})])
def test_sev_es_needs_the_version_that_nova_wants(altered, tmp_path, version, slots):
    sev = "<sev supported='yes'><maxGuests>15</maxGuests><maxESGuests>9</maxESGuests></sev>"
    set_parameters(two_sockets(tmp_path), sev="Y", sev_es="Y")
    hypervisor = altered(getDomainCapabilities=encryption_of(sev), getVersion=version)
    known = info(hypervisor, tmp_path).facts().encryption_slots
    assert known == {"amd_sev": 15} | slots


@pytest.mark.parametrize(("sev_snp", "slots"), [("N", {}), ("Y", {"amd_sev_snp": 9})])
def test_sev_snp_is_offered_where_libvirt_can_launch_it_whatever_the_version(
    altered, tmp_path, sev_snp, slots
):
    launch = "<enum name='sectype'><value>sev-snp</value></enum>"
    text = encryption_of(
        "<sev supported='yes'><maxGuests>15</maxGuests><maxESGuests>9</maxESGuests></sev>"
        f"<launchSecurity supported='yes'>{launch}</launchSecurity>"
    )
    set_parameters(two_sockets(tmp_path), sev="Y", sev_es="Y", sev_snp=sev_snp)
    hypervisor = altered(getDomainCapabilities=text, getVersion=7_002_022)
    assert info(hypervisor, tmp_path).facts().encryption_slots == {"amd_sev": 15} | slots


def test_how_many_guests_can_use_tdx_is_for_the_kernel_to_say(altered, tmp_path):
    machine = two_sockets(tmp_path)
    machine.write(machine.sysfs / "fs" / "cgroup" / "misc.capacity", "sev 509\ntdx 31\n")
    text = encryption_of("<tdx supported='yes'/><sev supported='no'/>")
    known = info(altered(getDomainCapabilities=text), tmp_path).facts().encryption_slots
    assert known == {"intel_tdx": 31}


@pytest.mark.parametrize(("said", "slots"), [(None, 0), (7, 7)])
def test_where_the_kernel_does_not_count_only_the_option_says_how_many(
    altered, tmp_path, said, slots
):
    hypervisor = altered(getDomainCapabilities=encryption_of("<tdx supported='yes'/>"))
    host = LibvirtHostInfo(
        hypervisor, tmp_path, tmp_path / "sys", options=GuestOptions(tdx_guests=said)
    )
    assert host.facts().encryption_slots == {"intel_tdx": slots}


def test_a_host_without_tdx_has_none_whatever_the_option_says(altered, tmp_path):
    options = GuestOptions(tdx_guests=7)
    host = LibvirtHostInfo(altered(), tmp_path, tmp_path / "sys", options=options)
    assert host.facts().encryption_slots == {}


@pytest.mark.parametrize("method", ["getCapabilities", "listAllDevices", "getInfo", "getCPUMap"])
def test_a_lost_connection_is_not_ready_naming_the_uri(libvirt, altered, tmp_path, method):
    hypervisor = altered(**{method: raises(libvirt, libvirt.VIR_ERR_SYSTEM_ERROR)})
    if method == "getCPUMap":
        with pytest.raises(VirtDriverNotReady, match="test:///default"):
            hypervisor.online_cpus()
    else:
        with pytest.raises(VirtDriverNotReady, match=r"test:///default.*broken"):
            info(hypervisor, tmp_path).facts()


def test_the_next_question_after_a_failure_is_asked_on_a_new_connection(libvirt, altered):
    hypervisor = altered(getHostname=raises(libvirt, libvirt.VIR_ERR_RPC))
    for _ in range(2):
        with pytest.raises(VirtDriverNotReady):
            hypervisor.hostname()
    assert len(hypervisor.opened) == 2


def test_a_connection_that_died_in_silence_is_replaced(altered):
    hypervisor = altered()
    hypervisor.hostname()
    hypervisor.opened[0].answers["isAlive"] = 0
    hypervisor.hostname()
    hypervisor.hostname()
    assert len(hypervisor.opened) == 2


def test_a_hypervisor_that_is_not_there_is_not_ready(libvirt, tmp_path):
    missing = f"test://{tmp_path}/nowhere.xml"
    with pytest.raises(VirtDriverNotReady, match=r"nowhere.xml"):
        Hypervisor(missing).hostname()


@pytest.mark.parametrize("text", ["<node><cpu>", "<host/>", "<node><domain/></node>", ""])
def test_a_hypervisor_that_libvirt_cannot_read_is_not_ready(libvirt, tmp_path, text):
    with pytest.raises(VirtDriverNotReady, match=r"hypervisor.xml"):
        Hypervisor(hypervisor_of(tmp_path, text)).hostname()


@pytest.mark.parametrize(
    ("method", "gone"),
    [("listAllDevices", "VIR_ERR_NO_NODE_DEVICE"), ("listAllDomains", "VIR_ERR_NO_DOMAIN")],
)
def test_what_vanishes_while_it_is_read_is_left_out(libvirt, altered, method, gone):
    class Vanished:
        XMLDesc = staticmethod(raises(libvirt, getattr(libvirt, gone)))

        def name(self):
            return "vanished"

    hypervisor = altered()
    hypervisor.hostname()
    all_there = getattr(hypervisor.opened[0], method)()
    hypervisor.opened[0].answers[method] = [*all_there, Vanished()]
    found = hypervisor.devices() if method == "listAllDevices" else hypervisor.guests()
    assert sorted(found) == sorted(one.name() for one in all_there)


def test_mediated_devices_that_are_only_defined_are_known_as_such(libvirt, altered, tmp_path):
    parent = "pci_0000_84_00_0"
    uri = hypervisor_of(tmp_path, node_xml(COMPUTER, gpu_xml(0x84, 2), mdev_xml(1, parent)))
    hypervisor = altered(uri)
    hypervisor.hostname()
    everything = hypervisor.opened[0].listAllDevices()
    defined = [one for one in everything if one.name().startswith("mdev")]
    hypervisor.opened[0].answers["listAllDevices"] = lambda flags=0: (
        defined if flags == libvirt.VIR_CONNECT_LIST_NODE_DEVICES_INACTIVE else everything
    )
    facts = info(hypervisor, tmp_path).facts()
    assert facts.mediated_devices == [
        MediatedDevice(mdev_uuid(1), parent, "nvidia-35", is_active=False)
    ]


def test_malformed_capabilities_are_malformed_xml(altered, tmp_path):
    with pytest.raises(MalformedXML, match="host capabilities"):
        info(altered(getCapabilities="<capabilities>"), tmp_path).facts()


PC = GuestKind("/usr/bin/qemu", "x86_64", "pc")


@pytest.mark.parametrize(
    "code", ["VIR_ERR_NO_SUPPORT", "VIR_ERR_INVALID_ARG", "VIR_ERR_SYSTEM_ERROR"]
)
def test_a_kind_of_guests_that_there_cannot_be_has_nothing(libvirt, altered, code):
    hypervisor = altered(getDomainCapabilities=raises(libvirt, getattr(libvirt, code)))
    assert hypervisor.what_guests_can_have(PC, "kvm") is None


def test_a_libvirt_that_is_busy_is_asked_again_later(libvirt, altered):
    busy = raises(libvirt, libvirt.VIR_ERR_OPERATION_TIMEOUT)
    with pytest.raises(VirtDriverNotReady, match="can't be asked"):
        altered(getDomainCapabilities=busy).what_guests_can_have(PC, "kvm")


class TestImageCache:
    def test_what_it_takes_of_the_disk_is_rounded_up(self, libvirt, tmp_path, monkeypatch):
        cache = tmp_path / "_base"
        cache.mkdir()
        (cache / "one").write_bytes(b"image")
        with (cache / "sparse").open("wb") as image:
            image.truncate(5 * 1024**3)
        host = info(Hypervisor("test:///default"), tmp_path)
        assert host.facts().image_cache_gb == 1
        monkeypatch.setattr("virt.node.disk.BLOCK", 1024**3)
        blocks = (cache / "one").stat().st_blocks
        assert host.facts().image_cache_gb == blocks

    def test_none_is_nothing(self, libvirt, tmp_path):
        assert info(Hypervisor("test:///default"), tmp_path).facts().image_cache_gb == 0

    def test_one_that_cannot_be_read_is_named(self, libvirt, tmp_path):
        (tmp_path / "_base").write_text("a file")
        with pytest.raises(HostFactsError, match="_base"):
            info(Hypervisor("test:///default"), tmp_path).facts()


class TestLoading:
    @pytest.mark.parametrize("name", ["libvirt", "libvirt.LibvirtDriver"])
    def test_the_driver_is_found_by_its_names(self, libvirt, make_conf, virtapi, name):
        conf = make_conf(libvirt__connection_uri="test:///default")
        driver = load_driver(virtapi, name, conf)
        assert len(driver.get_available_nodes()) == 1

    def test_without_the_library_it_says_what_to_install(self, make_conf, virtapi, monkeypatch):
        import_module = builtins.__import__

        def without(name, *arguments, **more):
            if name == "libvirt":
                raise ModuleNotFoundError("No module named 'libvirt'", name="libvirt")
            return import_module(name, *arguments, **more)

        monkeypatch.delitem(sys.modules, "libvirt", raising=False)
        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(DriverLoadError, match=r"extra `libvirt`.*libvirt-dev"):
            load_driver(virtapi, "libvirt.LibvirtDriver", make_conf())
