import pytest

from compute.exceptions import Invalid, InvalidConfiguration
from virt.node.cpu_sets import configured_cpus, cpu_sets, listed, parse_cpu_spec

ONLINE = frozenset(range(8))


def sets(conf):
    found = cpu_sets(configured_cpus(conf), ONLINE)
    return sorted(found.shared), sorted(found.dedicated)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("4", {4}),
        ("4-7", {4, 5, 6, 7}),
        ("4-12,^8,15", {4, 5, 6, 7, 9, 10, 11, 12, 15}),
        ("^1-2,0-3", {0, 3}),
        (" 0 - 1 , 3 ", {0, 1, 3}),
    ],
)
def test_processors_are_listed_in_numbers_ranges_and_exceptions(text, cpus):
    assert parse_cpu_spec(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "1,,2", "3-1", "^4", "0-1,^0-3", "0-99999999", "-1"])
def test_what_is_no_such_list_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_cpu_spec(text)


@pytest.mark.parametrize(
    ("options", "shared", "dedicated"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7], []),
        ({"compute__cpu_shared_set": "0-1"}, [0, 1], []),
        ({"compute__cpu_dedicated_set": "6,7"}, [], [6, 7]),
        ({"compute__cpu_shared_set": "0-1", "compute__cpu_dedicated_set": "6,7"}, [0, 1], [6, 7]),
        ({"vcpu_pin_set": "2-3", "compute__cpu_shared_set": "0-1"}, [2, 3], []),
        ({"vcpu_pin_set": "2-3", "compute__cpu_dedicated_set": "6"}, [2, 3], [6]),
        ({"compute__cpu_shared_set": "  "}, [0, 1, 2, 3, 4, 5, 6, 7], []),
    ],
)
def test_shared_is_the_pin_set_else_the_shared_set_else_what_nothing_is_dedicated_of(
    make_conf, options, shared, dedicated
):
    assert sets(make_conf(**options)) == (shared, dedicated)


@pytest.mark.parametrize("shared_option", ["vcpu_pin_set", "compute__cpu_shared_set"])
def test_a_processor_both_shared_and_dedicated_is_refused_naming_both_options(
    make_conf, shared_option
):
    conf = make_conf(**{shared_option: "0-4", "compute__cpu_dedicated_set": "3-7"})
    with pytest.raises(InvalidConfiguration) as refused:
        configured_cpus(conf)
    assert shared_option.removeprefix("compute__") in str(refused.value)
    assert "[compute]cpu_dedicated_set both have CPUs 3-4" in str(refused.value)


@pytest.mark.parametrize("option", ["vcpu_pin_set", "compute__cpu_dedicated_set"])
def test_a_configured_processor_that_is_not_online_is_invalid(make_conf, option):
    with pytest.raises(Invalid, match=option.removeprefix("compute__") + ".*CPUs 8, 10-11"):
        sets(make_conf(**{option: "7-8,10-11"}))


MANAGED = {"compute__cpu_dedicated_set": "4-9", "libvirt__cpu_power_management": True}


def test_dedicated_processors_that_nova_keeps_offline_count(make_conf):
    configured = configured_cpus(make_conf(compute__cpu_shared_set="0-3", **MANAGED))
    found = cpu_sets(configured, range(6), range(6, 12))
    assert (sorted(found.shared), sorted(found.dedicated)) == ([0, 1, 2, 3], [4, 5, 6, 7, 8, 9])


def test_those_that_are_not_there_at_all_are_refused(make_conf):
    with pytest.raises(InvalidConfiguration, match=r"cpu_dedicated_set has CPUs 8-9, but online"):
        cpu_sets(configured_cpus(make_conf(**MANAGED)), range(6), range(6, 8))


def test_shared_processors_are_online_whatever_nova_manages(make_conf):
    conf = make_conf(compute__cpu_shared_set="0-3", **MANAGED)
    with pytest.raises(InvalidConfiguration, match=r"cpu_shared_set has CPU 3, but online"):
        cpu_sets(configured_cpus(conf), {0, 1, 2, 4, 5}, {3, *range(6, 12)})


@pytest.mark.parametrize(
    "options",
    [
        {"libvirt__cpu_power_management": False},
        {"libvirt__cpu_power_management_strategy": "governor"},
    ],
)
def test_without_that_strategy_an_offline_processor_is_refused_with_a_hint(make_conf, options):
    conf = make_conf(**{**MANAGED, **options})
    with pytest.raises(
        InvalidConfiguration, match=r"CPUs 6-9, but .*\[libvirt\]cpu_power_management.*cpu_state"
    ):
        cpu_sets(configured_cpus(conf), range(6), range(6, 12))


@pytest.mark.parametrize("option", ["cpu_shared_set", "cpu_dedicated_set"])
def test_nothing_is_reserved_beside_the_sets(make_conf, option):
    conf = make_conf(reserved_host_cpus=1, **{f"compute__{option}": "1-3"})
    with pytest.raises(InvalidConfiguration, match=rf"reserved_host_cpus.*{option}"):
        configured_cpus(conf)


def test_a_list_that_cannot_be_read_is_refused_naming_the_option(make_conf):
    with pytest.raises(InvalidConfiguration, match=r"\[compute\]cpu_shared_set.*'four'"):
        configured_cpus(make_conf(compute__cpu_shared_set="1,four"))


def test_processors_are_written_for_people():
    assert (listed([3]), listed([]), listed([8, 0, 1, 2])) == ("CPU 3", "no CPU", "CPUs 0-2, 8")
