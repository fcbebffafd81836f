"""The compute node record and the cell database, in memory and in SQLite (compute.md §4.1–4.3)."""

import pytest

from compute import exceptions
from compute.records.cell_database import DuplicateRecord, sqlite
from compute.records.compute_node import ComputeNode, missing_resources
from compute.records.service import Service

UUID = "11111111-1111-4111-8111-111111111111"
OTHER_UUID = "22222222-2222-4222-8222-222222222222"

RESOURCES = {
    "vcpus": 10,
    "memory_mb": 8192,
    "local_gb": 1028,
    "cpu_info": "{}",
    "vcpus_used": 1,
    "memory_mb_used": 2,
    "local_gb_used": 3,
    "numa_topology": None,
}


def a_node(uuid=UUID, host="host1", name="node1"):
    return ComputeNode(uuid=uuid, host=host, hypervisor_hostname=name)


@pytest.fixture
def nodes(cell):
    return cell.compute_nodes


class TestRecord:
    def test_takes_over_what_the_driver_says(self):
        node = a_node()
        node.update_from_virt_driver(
            {**RESOURCES, "uuid": UUID, "supported_instances": [("x86_64", "kvm", "hvm")]}
        )
        assert (node.vcpus, node.memory_mb, node.local_gb) == (10, 8192, 1028)
        assert node.supported_hv_specs == [["x86_64", "kvm", "hvm"]]

    def test_keeps_what_the_driver_does_not_mention(self):
        node = a_node()
        node.hypervisor_type = "fake"
        node.update_from_virt_driver(RESOURCES)
        assert node.hypervisor_type == "fake"

    def test_refuses_another_uuid(self):
        with pytest.raises(exceptions.InvalidNodeConfiguration, match=OTHER_UUID):
            a_node().update_from_virt_driver({**RESOURCES, "uuid": OTHER_UUID})

    def test_usage_starts_with_what_is_reserved_and_may_exceed_what_there_is(self):
        node = a_node()
        node.update_from_virt_driver({**RESOURCES, "memory_mb": 500})
        node.reset_usage(vcpus=2, memory_mb=512, local_gb=8)
        assert (node.vcpus_used, node.memory_mb_used, node.local_gb_used) == (2, 512, 8)
        assert (node.free_ram_mb, node.free_disk_gb) == (-12, 1020)

    def test_missing_keys_are_named_in_the_order_of_the_contract(self):
        told = {key: 0 for key in RESOURCES if key not in ("numa_topology", "vcpus")}
        assert missing_resources(told) == ["vcpus", "numa_topology"]


class TestComputeNodes:
    def test_a_record_comes_back_as_it_was_kept(self, nodes):
        node = a_node()
        node.update_from_virt_driver(RESOURCES)
        node.cpu_allocation_ratio = 4.0
        node.pci_device_pools = [{"product_id": "1", "count": 2}]
        nodes.create(node)
        assert node.id is not None
        assert nodes.by_uuid(UUID) == node

    def test_a_copy_is_handed_out(self, nodes):
        nodes.create(a_node())
        nodes.by_uuid(UUID).pci_device_pools.append({"count": 1})
        assert nodes.by_uuid(UUID).pci_device_pools == []

    def test_saving_replaces_the_record(self, nodes):
        node = a_node()
        nodes.create(node)
        node.vcpus = 64
        nodes.save(node)
        assert nodes.by_host_and_node("host1", "node1").vcpus == 64

    def test_saving_what_was_never_created_is_refused(self, nodes):
        with pytest.raises(exceptions.ComputeHostNotFound):
            nodes.save(a_node())

    def test_a_uuid_is_kept_once(self, nodes):
        nodes.create(a_node())
        with pytest.raises(DuplicateRecord):
            nodes.create(a_node(host="host2", name="node2"))

    def test_a_host_has_a_node_name_once(self, nodes):
        nodes.create(a_node())
        with pytest.raises(DuplicateRecord):
            nodes.create(a_node(uuid=OTHER_UUID))

    def test_the_name_of_a_deleted_node_is_free_again_but_not_its_uuid(self, nodes):
        gone = a_node()
        nodes.create(gone)
        nodes.destroy(gone)
        nodes.create(a_node(uuid=OTHER_UUID))
        with pytest.raises(DuplicateRecord):
            nodes.create(a_node(name="node2"))

    def test_a_deleted_node_can_not_come_back_under_a_name_that_is_taken(self, nodes):
        gone = a_node()
        nodes.create(gone)
        nodes.destroy(gone)
        nodes.create(a_node(uuid=OTHER_UUID))
        gone.deleted = False
        with pytest.raises(DuplicateRecord):
            nodes.save(gone)

    def test_a_deleted_record_is_found_only_by_uuid_and_only_on_request(self, nodes):
        node = a_node()
        nodes.create(node)
        nodes.destroy(node)
        assert nodes.by_uuid(UUID) is None
        assert nodes.by_host("host1") == []
        assert nodes.by_host_and_node("host1", "node1") is None
        assert nodes.by_uuid(UUID, include_deleted=True).deleted is True

    def test_a_node_another_host_took_meanwhile_is_not_destroyed(self, nodes):
        ours = a_node()
        nodes.create(ours)
        theirs = nodes.by_uuid(UUID)
        theirs.host = "host2"
        nodes.save(theirs)
        with pytest.raises(exceptions.ObjectActionError):
            nodes.destroy(ours)
        assert nodes.by_uuid(UUID).host == "host2"

    def test_the_nodes_of_a_host_come_oldest_first(self, nodes):
        nodes.create(a_node(name="b"))
        nodes.create(a_node(uuid=OTHER_UUID, name="a"))
        assert [node.hypervisor_hostname for node in nodes.by_host("host1")] == ["b", "a"]
        assert nodes.by_host("host2") == []


class TestServices:
    def test_a_service_comes_back_as_it_was_kept(self, cell):
        service = Service(host="host1")
        cell.services.create(service)
        service.disabled, service.disabled_reason = True, "maintenance"
        cell.services.save(service)
        assert cell.services.by_host("host1") == service
        assert cell.services.by_host("host2") is None

    def test_a_host_has_one_service(self, cell):
        cell.services.create(Service(host="host1"))
        with pytest.raises(DuplicateRecord):
            cell.services.create(Service(host="host1"))

    def test_saving_what_was_never_created_is_refused(self, cell):
        with pytest.raises(exceptions.ComputeHostNotFound):
            cell.services.save(Service(host="host1"))


class TestSQLiteFile:
    def test_records_outlive_the_process_that_made_them(self, tmp_path):
        first = sqlite.open_in(str(tmp_path))
        first.compute_nodes.create(a_node())
        first.close()
        second = sqlite.open_in(str(tmp_path))
        assert second.compute_nodes.by_uuid(UUID).hypervisor_hostname == "node1"
        second.close()

    def test_a_record_from_before_a_field_existed_gets_its_default(self, tmp_path):
        database = sqlite.open_in(str(tmp_path))
        database.compute_nodes.create(a_node())
        with database._engine.begin() as connection:
            connection.exec_driver_sql("""UPDATE compute_nodes SET details = '{"vcpus": 3}'""")
        node = database.compute_nodes.by_uuid(UUID)
        assert (node.vcpus, node.memory_mb, node.stats) == (3, 0, {})
        database.close()

    def test_a_state_path_that_can_not_be_used_is_bad_configuration(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(exceptions.InvalidConfiguration, match="state_path"):
            sqlite.open_in(str(tmp_path / "file" / "below"))

    def test_a_file_that_is_no_database_is_bad_configuration(self, tmp_path):
        (tmp_path / sqlite.FILE_NAME).write_text("no database " * 100)
        with pytest.raises(exceptions.InvalidConfiguration, match="not a database"):
            sqlite.open_in(str(tmp_path))
