"""The nodes of a host as a command finds them."""

import pytest

from compute.maintenance.nodes import NoSuchNode, nodes_of
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode


class Driver:
    """Lists nodes, and counts how often it is asked for their uuids."""

    def __init__(self, uuids):
        self.uuids = uuids
        self.asked = 0

    def get_available_nodes(self):
        return list(self.uuids)

    def get_nodenames_by_uuid(self):
        self.asked += 1
        return {uuid: name for name, uuid in self.uuids.items() if uuid}

    def get_available_resource(self, nodename):
        return {"vcpus": 4, "memory_mb": 1024, "local_gb": 10}


def found(driver, cell=None, wanted=()):
    nodes = nodes_of("host1", driver, cell or MemoryCellDatabase(), wanted)
    return [(node.hypervisor_hostname, node.uuid) for node in nodes]


def test_many_nodes_without_records_are_one_question_to_the_driver():
    driver = Driver({f"node-{number}": f"uuid-{number}" for number in range(5)})
    assert found(driver) == [(f"node-{number}", f"uuid-{number}") for number in range(5)]
    assert driver.asked == 1


def test_a_node_with_a_record_is_the_record_s_whatever_the_driver_says():
    driver, cell = Driver({"node-a": "uuid-a"}), MemoryCellDatabase()
    cell.compute_nodes.create(ComputeNode("recorded", "host1", "node-a"))
    assert (found(driver, cell), driver.asked) == ([("node-a", "recorded")], 0)


def test_only_the_nodes_wanted_are_given_in_the_order_of_their_names():
    driver = Driver({"node-c": "c", "node-b": "b", "node-a": "a"})
    assert found(driver, wanted=["node-c", "node-a"]) == [("node-a", "a"), ("node-c", "c")]


@pytest.mark.parametrize(
    ("uuids", "wanted"), [({}, []), ({"node-a": "a"}, ["node-b"]), ({"node-a": None}, [])]
)
def test_a_node_nobody_knows_is_refused(uuids, wanted):
    with pytest.raises(NoSuchNode):
        found(Driver(uuids), wanted=wanted)
