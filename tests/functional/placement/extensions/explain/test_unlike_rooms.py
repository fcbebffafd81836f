"""Trees that are alike for a request, but not for an easier one, have reasons of their own."""

from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud


def test_isolate_is_to_blame_only_where_a_provider_has_room_for_both_groups(tmp_path):
    service = Service(f"sqlite:///{tmp_path}/placement.db")
    hosts = [("small", 11), ("tight", 11), ("large", 12)]
    Cloud(service).build(
        [{"name": name, "inventories": {"VCPU": {"total": most}}} for name, most in hosts]
    )

    query = "resources1=VCPU:6&resources2=VCPU:6&group_policy=isolate"
    answer = service.get(f"/berth/v1/allocation_candidates/explain?{query}").json

    reasons = {reason["reason"]: reason["trees"] for reason in answer["reasons"]}
    assert reasons == {"together": 2, "isolate": 1}
