"""Kinds of processors that an image may have asked for."""

import pytest

from compute.records.instance import Flavor
from compute.requests.as_held import as_held
from compute.requests.guest_request import amounts_of
from compute.requests.translation import healed_request

ISOLATE = {"hw:emulator_threads_policy": "isolate"}


@pytest.mark.parametrize(
    ("specs", "held", "processors"),
    [
        ({}, {"a": {"PCPU": 4}}, {"PCPU": 4}),
        ({}, {"a": {"PCPU": 1}, "b": {"VCPU": 3}}, {"PCPU": 1, "VCPU": 3}),
        (ISOLATE, {"a": {"PCPU": 5}}, {"PCPU": 5}),
        # not as many as it asks for
        ({}, {"a": {"PCPU": 5}}, {"VCPU": 4}),
        ({}, {"a": {"PCPU": 4, "VCPU": 4}}, {"VCPU": 4}),
        ({}, {"a": {"VCPU": 4}}, {"VCPU": 4}),
        # the flavor says which
        ({"hw:cpu_policy": "shared"}, {"a": {"PCPU": 4}}, {"VCPU": 4}),
        ({"resources:VCPU": "4"}, {"a": {"PCPU": 4}}, {"VCPU": 4}),
    ],
)
def test_as_many_processors_of_another_kind_are_right_if_the_flavor_is_silent(
    specs, held, processors
):
    flavor = Flavor(vcpus=4, extra_specs=specs)
    assert amounts_of(as_held(healed_request(flavor), flavor, held)) == processors
