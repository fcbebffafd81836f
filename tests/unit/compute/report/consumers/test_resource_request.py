"""Requests of resources as the query of GET /allocation_candidates (compute.md §3.13)."""

from compute.report.consumers.resource_request import RequestGroup, ResourceRequest


def test_the_query_names_everything_in_order():
    request = ResourceRequest(
        {
            "": RequestGroup(resources={"VCPU": 1, "DISK_GB": 2}),
            "_NIC": RequestGroup(
                resources={"SRIOV_NET_VF": 1},
                required_traits=frozenset({"CUSTOM_B", "CUSTOM_A"}),
                forbidden_traits=frozenset({"CUSTOM_C"}),
                member_of=(frozenset({"y", "x"}),),
                forbidden_aggregates=frozenset({"z"}),
                in_tree="tree",
            ),
        },
        limit=3,
        group_policy="none",
        root_required=frozenset({"COMPUTE_NODE"}),
        root_forbidden=frozenset({"COMPUTE_STATUS_DISABLED"}),
        same_subtree=(frozenset({"_NIC", "_CPU"}),),
    )
    assert request.to_querystring(1000).replace("%2C", ",").replace("%3A", ":") == (
        "group_policy=none&in_tree_NIC=tree&limit=3&member_of_NIC=%21in:z"
        "&member_of_NIC=in:x,y&required_NIC=CUSTOM_A,CUSTOM_B,%21CUSTOM_C"
        "&resources=DISK_GB:2,VCPU:1&resources_NIC=SRIOV_NET_VF:1"
        "&root_required=COMPUTE_NODE,%21COMPUTE_STATUS_DISABLED&same_subtree=_CPU,_NIC"
    )
