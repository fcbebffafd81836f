"""What names tell of hosts and devices, and the marks of a list of suspects."""

import pytest

from placement.extensions.suspects.rules import KINDS, SuspectMark, pci_address, short_name


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("host1_0000:81:00.0", "0000:81:00.0"),
        ("host1_0000:8A:0F.7", "0000:8a:0f.7"),
        ("host1_pci_0000_81_00_0", "0000:81:00.0"),
        ("host1_PCI_00010000_8A_0F_7", "00010000:8a:0f.7"),
        ("0000:81:00.0", "0000:81:00.0"),
        ("pci_0000_81_00_0", "0000:81:00.0"),
        # no address, or something after it
        ("host1", None),
        ("host1_0000:81:00.8", None),
        ("host1_0000:81:00.0_region1", None),
        ("hostpci_0000_81_00_0", None),
        ("host10000:81:00.0", None),
        ("host1_0000_81_00_0", None),
        ("host1_0000:81:00.0\n", None),
        ("", None),
        ("host1_pci_0000_81_00_0" * 9, "0000:81:00.0"),
        ("😀_0000:81:00.0", "0000:81:00.0"),
    ],
)
def test_a_name_ends_with_a_pci_address_or_has_none(name, address):
    assert pci_address(name) == address


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("host1", "host1.example.org", True),
        ("host1.example.org", "host1.example.com", True),
        ("Host1", "host1", True),
        ("HOST1.example.org.", "host1", True),
        ("straße", "STRASSE", True),
        ("host1", "host2", False),
        ("host1.example.org", "host2.example.org", False),
        ("10.0.0.1", "10.0.0.2", False),
        ("node.1", "node.2", False),
        ("node.1", "node", False),
        ("rack1.node.1", "rack1.node.2", False),
        (".hidden", ".other", False),
        (".", "..", True),
        ("host1 ", "host1", True),
        ("::1", "::2", False),
    ],
)
def test_names_are_alike_but_for_domain_and_case(one, other, alike):
    assert (short_name(one) == short_name(other)) is alike


def test_a_mark_is_read_as_it_was_written():
    marks = [SuspectMark(rank, 2**31 - 1, 7) for rank in range(len(KINDS))]
    assert [SuspectMark.parsed(str(mark)) for mark in marks] == marks
    assert sorted(marks, reverse=True) == marks[::-1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "over_capacity",
        "over_capacity.1",
        "over_capacity.1.2.3",
        "over_capacity.-1.0",
        "over_capacity.1.0\n",
        "over_capacity.١.0",
        "over_capacity.2147483648.0",
        "over_capacity.1.9999999999",
        "everything.1.0",
        "OVER_CAPACITY.1.0",
        "a0000000-0000-4000-8000-000000000001",
    ],
)
def test_any_other_text_is_no_mark(text):
    with pytest.raises(ValueError, match="no marker that the service gave out"):
        SuspectMark.parsed(text)
