"""The other names that a host may go by."""

import pytest

from compute.report.trees.namesakes import alike


@pytest.mark.parametrize(
    ("name", "machine", "others"),
    [
        ("host", ["host.example.org"], ["host.example.org"]),
        ("host", ["host", "host.example.org", "host.example.org"], ["host.example.org"]),
        ("host", ["hosts.example.org", "localhost.localdomain"], []),
        ("host.example.org", ["host.example.org"], ["host"]),
        (".org", [], []),
    ],
)
def test_a_host_may_have_its_name_with_or_without_the_domain(name, machine, others):
    assert alike(name, lambda: iter(machine)) == others
