import builtins
import socket
from types import SimpleNamespace

import pytest

from compute import exceptions
from tests.extras import needed_library
from tests.unit.virt.consumers import uuid
from tests.unit.virt.ironic.bare_metal_service import with_token
from virt.driver import DriverLoadError, load_driver
from virt.ironic.bare_metal_api import BareMetalAPI
from virt.ironic.node import IronicNode


def described(number, **fields):
    return {
        "uuid": uuid(number),
        "name": f"rack1-{number:02}",
        "resource_class": "baremetal.gold",
        "traits": ["CUSTOM_RAID"],
        "maintenance": False,
        "power_state": "power on",
        "provision_state": "available",
        "instance_uuid": None,
        "properties": {"cpu_arch": "x86_64"},
        **fields,
    }


def test_machines_are_listed_with_all_that_matters_page_after_page(api_conf, service):
    used = {"provision_state": "active", "instance_uuid": uuid(77)}
    service.nodes = [described(1), described(2, maintenance=True, traits=[]), described(3, **used)]

    found = BareMetalAPI(with_token(api_conf(service), service)).nodes()

    same = {"resource_class": "baremetal.gold", "power_state": "power on", "cpu_arch": "x86_64"}
    raid = frozenset({"CUSTOM_RAID"})
    assert found == [
        IronicNode(uuid(1), "rack1-01", traits=raid, **same),
        IronicNode(uuid(2), "rack1-02", traits=frozenset(), maintenance=True, **same),
        IronicNode(uuid(3), "rack1-03", traits=raid, **used, **same),
    ]


def test_a_machine_nothing_is_known_of_yet_has_no_class_and_no_power_state(api_conf, service):
    unknown = ("resource_class", "power_state", "provision_state", "traits", "properties", "name")
    service.nodes = [described(1, **dict.fromkeys(unknown))]

    (found,) = BareMetalAPI(with_token(api_conf(service), service)).nodes()

    # The library itself takes a missing provision state for the one ironic had before "available".
    assert found == IronicNode(uuid(1), power_state=None, provision_state="available")


@pytest.mark.parametrize("option", ["conductor_group", "shard"])
def test_the_list_can_be_narrowed(api_conf, service, option):
    service.nodes = [described(number, **{option: f"group-{number}"}) for number in (1, 2)]
    conf = api_conf(service, **{f"ironic__{option}": "group-2"})

    found = BareMetalAPI(with_token(conf, service)).nodes()

    assert [node.uuid for node in found] == [uuid(2)]


@pytest.mark.parametrize("option", ["conductor_group", "shard"])
def test_a_machine_that_is_not_listed_may_be_there(api_conf, service, option):
    service.nodes = [described(1, **{option: "group-1"})]
    api = BareMetalAPI(with_token(api_conf(service, **{f"ironic__{option}": "group-2"}), service))

    assert (api.nodes(), api.has(uuid(1)), api.has(uuid(2))) == ([], True, False)
    service.status = 500
    with pytest.raises(exceptions.VirtDriverNotReady):
        api.has(uuid(1))


def test_a_service_that_fails_is_not_ready_and_asked_again_later(api_conf, service):
    service.nodes = [described(1)]
    api = BareMetalAPI(with_token(api_conf(service), service))
    service.status = 500
    with pytest.raises(exceptions.VirtDriverNotReady, match="500: Server Error"):
        api.nodes()

    service.status = 200

    assert [node.uuid for node in api.nodes()] == [uuid(1)]


def test_a_service_that_is_not_there_is_not_ready(api_conf):
    needed_library("openstack", "ironic")
    # nobody listens, and nobody else can have the port
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        gone = SimpleNamespace(url=f"http://127.0.0.1:{held.getsockname()[1]}")
        conf = with_token(api_conf(gone), gone)

        with pytest.raises(exceptions.VirtDriverNotReady, match=r"can't be asked: .*127\.0\.0\.1"):
            BareMetalAPI(conf).nodes()


def test_a_service_that_lets_nobody_in_is_not_ready(api_conf, service):
    conf = with_token(api_conf(service), service)
    conf.set_override("token", "a-forged-token", group="ironic")

    with pytest.raises(exceptions.VirtDriverNotReady, match="can't be asked"):
        BareMetalAPI(conf).nodes()


def test_options_that_say_too_little_are_refused_with_their_group(make_conf):
    needed_library("openstack", "ironic")
    conf = make_conf(ironic__node_source="openstack", ironic__auth_type="no_such_plugin")

    with pytest.raises(
        exceptions.InvalidConfiguration, match=r"Group \[ironic\]: .*no_such_plugin"
    ):
        BareMetalAPI(conf).nodes()


def test_the_driver_asks_the_service_the_configuration_names(api_conf, virtapi, service):
    service.nodes = [described(1)]

    driver = load_driver(virtapi, "ironic", with_token(api_conf(service), service))

    assert driver.get_available_nodes() == [uuid(1)]


def test_while_the_service_can_not_be_asked_no_node_is_deleted(api_conf, virtapi, service, caplog):
    service.nodes = [described(1)]
    driver = load_driver(virtapi, "ironic", with_token(api_conf(service), service))
    driver.init_host("host1")
    service.status = 500

    assert not driver.is_node_deleted(uuid(2))
    assert "500: Server Error" in caplog.text


def test_a_driver_may_start_before_the_service(api_conf, virtapi, service):
    service.nodes, service.status = [described(1)], 500
    driver = load_driver(virtapi, "ironic", with_token(api_conf(service), service))
    driver.init_host("host1")
    with pytest.raises(exceptions.VirtDriverNotReady):
        driver.get_available_nodes()

    service.status = 200

    assert driver.get_available_nodes() == [uuid(1)]


def test_without_the_library_the_extra_is_named(api_conf, virtapi, service, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "openstack":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DriverLoadError, match="extra `ironic`"):
        load_driver(virtapi, "ironic", api_conf(service))
