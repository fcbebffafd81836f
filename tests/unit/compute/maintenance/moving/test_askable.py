"""A request that counts as askable is one that placement reads."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compute.maintenance.moving.askable import is_askable
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from placement.errors import BadRequest
from placement.handlers.allocation_candidates import request_in_body
from placement.microversions import Version
from tests.extent import examples

NAMES = frozenset({"VCPU", "CUSTOM_A", "HW_A", "HW_B"})
TRAITS = st.frozensets(st.sampled_from(["HW_A", "HW_B", "HW_A", "CUSTOM_GONE", "custom a"]))
AMOUNTS = st.sampled_from([1, 1, 1, 4, 0, -1, 2**31 - 1])
CLASSES = st.sampled_from(["VCPU", "CUSTOM_A", "VCPU", "CUSTOM_A", "CUSTOM_GONE", "vcpu"])
SUFFIXES = st.sampled_from(["", "1", "_A", "_held_1", "x" * 64])
#: no translation makes a group that asks for nothing
GROUPS = st.builds(
    RequestGroup, st.dictionaries(CLASSES, AMOUNTS, max_size=2), TRAITS, st.just(frozenset())
).filter(lambda group: group != RequestGroup())
REQUESTS = st.builds(
    ResourceRequest,
    st.dictionaries(SUFFIXES, GROUPS, max_size=3),
    group_policy=st.sampled_from([None, "none", "isolate"]),
    root_required=TRAITS,
    root_forbidden=TRAITS,
    same_subtree=st.lists(st.frozensets(SUFFIXES, min_size=1), max_size=1).map(tuple),
)


@settings(max_examples=examples(300, 3000), deadline=None)
@given(REQUESTS)
def test_what_is_askable_is_read_and_what_is_read_with_names_that_exist_is_askable(request):
    try:
        found = request_in_body(request.to_querystring(), Version((1, 39)))
    except BadRequest:
        assert not is_askable(request, NAMES)
        return
    traits = found.root_required | found.root_forbidden
    for group in found.groups:
        traits = traits.union(group.forbidden, *group.required)
    if found.demand.keys() | traits <= NAMES:
        assert is_askable(request, NAMES)
