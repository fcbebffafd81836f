"""What consumers lose in a reshape, which is warned of (compute.md §4.5)."""

from compute.resource_tracker.reporting.reshape import lost


def holding(**resources_by_provider):
    return {"allocations": {rp: {"resources": r} for rp, r in resources_by_provider.items()}}


def test_moving_to_another_provider_loses_nothing():
    before = {"c": holding(root={"VCPU": 2, "MEMORY_MB": 5})}
    after = {"c": holding(numa0={"VCPU": 1, "MEMORY_MB": 5}, numa1={"VCPU": 1})}
    assert lost(before, after) == {}


def test_renaming_a_class_loses_nothing():
    before = {"c": holding(root={"CUSTOM_FPGA": 2, "VCPU": 1})}
    after = {"c": holding(root={"FPGA": 2, "VCPU": 1})}
    assert lost(before, after) == {}


def test_gaining_one_class_does_not_hide_the_loss_of_another():
    before = {"c": holding(root={"VCPU": 4})}
    after = {"c": holding(root={"VCPU": 2, "SRIOV_NET_VF": 1})}
    assert lost(before, after) == {"c": {"VCPU": 2}}


def test_a_consumer_that_is_not_mentioned_keeps_what_it_has():
    assert lost({"c": holding(root={"VCPU": 4})}, {}) == {}


def test_a_consumer_with_nothing_left_lost_everything():
    assert lost({"c": holding(root={"VCPU": 4})}, {"c": holding()}) == {"c": {"VCPU": 4}}
