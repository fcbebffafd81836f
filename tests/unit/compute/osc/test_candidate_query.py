"""From options as osc-placement has them to a query of allocation candidates."""

import argparse
from urllib.parse import parse_qsl

import pytest

from compute.osc.candidate_query import add_options, asks, query_of


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(arguments)


def pairs(*arguments):
    return parse_qsl(query_of(parsed(*arguments)))


def test_options_before_a_group_are_of_the_unsuffixed_one():
    found = pairs(
        "--resource",
        "VCPU=1",
        "--resource",
        "MEMORY_MB=2",
        "--required",
        "A",
        "--group",
        "1",
        "--resource",
        "VGPU=1",
        "--forbidden",
        "B",
        "--group",
        "net",
        "--resource",
        "SRIOV_NET_VF=1",
        "--member-of",
        "x,y",
        "--group-policy",
        "isolate",
        "--same-subtree",
        "1,net",
    )
    assert found == [
        ("resources", "VCPU:1,MEMORY_MB:2"),
        ("required", "A"),
        ("resources1", "VGPU:1"),
        ("required1", "!B"),
        ("resources_net", "SRIOV_NET_VF:1"),
        ("member_of_net", "in:x,y"),
        ("same_subtree", "1,_net"),
        ("group_policy", "isolate"),
    ]


def test_alternatives_and_roots():
    found = pairs("--required", "A,B", "--in-tree", "u", "--root-required", "C,!D")

    assert found == [("required", "in:A,B"), ("in_tree", "u"), ("root_required", "C,!D")]


def test_a_group_can_be_gone_on_with():
    found = pairs(
        "--group", "1", "--resource", "A=1", "--group", "2", "--resource", "B=1", "--group", "1"
    )

    assert found == [("resources1", "A:1"), ("resources2", "B:1")]


@pytest.mark.parametrize(
    "option",
    ["--required=A", "--group=1", "--group-policy=none", "--root-required=A", "--same-subtree=1,2"],
)
def test_whether_anything_is_asked_for(option):
    assert asks(parsed(option))
    assert not asks(parsed())


def test_an_amount_without_equals_ends_the_command(capsys):
    with pytest.raises(SystemExit) as ended:
        query_of(parsed("--resource", "VCPU:1"))

    assert ended.value.code == 2
    assert "<resource_class>=<value>" in capsys.readouterr().err
