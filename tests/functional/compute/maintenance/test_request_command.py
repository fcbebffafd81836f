"""`nova-manage placement request`: what nova's scheduler asks for flavors and images."""

import io
import json
import os
import sys

import pytest

from compute.cli.nova_manage import main
from compute.records.instance import Flavor
from tests.functional.forked import Forked

SPECS = {"hw:cpu_policy": "dedicated", "hw:numa_nodes": "2", "trait:CUSTOM_GOLD": "required"}
GUESTS = [
    {
        "flavor": {"name": "m1.large", "vcpus": 4, "ram": 8192, "root_gb": 20, "swap": 1025},
        "image": {"properties": {"hw_sound_model": "virtio"}, "disk_format": "qcow2"},
        "is_bfv": False,
    },
    {"flavor": {"vcpus": 4, "ram": 512, "extra_specs": SPECS}, "is_bfv": True},
    {"flavor": {"extra_specs": {"hw:tpm_version": "3"}}},
    {},
]
ALIASES = """
[pci]
alias = {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}
[filter_scheduler]
pci_in_placement = true
[scheduler]
query_placement_for_image_type_support = true
image_metadata_prefilter = true
"""


@pytest.fixture
def translate(sqlite_site, tmp_path):
    """Return the answers to guests in a file."""

    def translated(*guests):
        (tmp_path / "guests.json").write_text(json.dumps(guests))
        ended = sqlite_site.run("request", "--json", str(tmp_path / "guests.json"))
        assert (ended.code, ended.err) == (0, "")
        return ended.json

    return translated


def test_guests_are_translated_in_their_order(translate):
    large, pinned, refused, empty = translate(*GUESTS)

    assert large == {
        "query": "resources=DISK_GB%3A22%2CMEMORY_MB%3A8192%2CVCPU%3A4&root_required="
        "COMPUTE_SOUND_MODEL_VIRTIO%2COWNER_NOVA%2C%21COMPUTE_STATUS_DISABLED",
        "fallback": None,
        "holds": {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 22},
        "heals": {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 22},
        "refused": None,
        "left_out": [],
    }
    assert pinned["holds"] == pinned["heals"] == {"PCPU": 4, "MEMORY_MB": 512}
    assert "PCPU%3A4" in pinned["query"]
    assert "VCPU%3A4" in pinned["fallback"]
    assert pinned["left_out"] == [
        "hw:numa_nodes=2 is not in the request: NUMATopologyFilter judges it."
    ]
    assert refused == {
        "query": None,
        "fallback": None,
        "holds": None,
        "heals": {"VCPU": 1},
        "refused": "hw:tpm_version=3 must be one of 1.2, 2.0.",
        "left_out": [],
    }
    assert empty["holds"] == {"VCPU": 1}


def test_novas_options_are_read_from_the_configuration(sqlite_site, translate):
    sqlite_site.configure(more=ALIASES)

    (found,) = translate(
        {
            "flavor": {"extra_specs": {"pci_passthrough:alias": "gpu:2"}},
            "image": {"properties": {"hw_disk_bus": "scsi"}, "disk_format": "raw"},
        }
    )

    assert found["holds"] == {"VCPU": 1, "CUSTOM_PCI_10DE_1EB8": 2}
    assert found["heals"] == {"VCPU": 1}
    for part in ("COMPUTE_STORAGE_BUS_SCSI", "COMPUTE_IMAGE_TYPE_RAW", "group_policy=none"):
        assert part in found["query"]


def test_clouds_with_old_agents_ask_for_no_owner(sqlite_site, translate):
    sqlite_site.configure(more="[berth]\nowner_trait = false\n")

    assert translate({})[0]["query"].endswith("root_required=%21COMPUTE_STATUS_DISABLED")


def test_ports_are_given_as_the_network_service_has_them(translate):
    first, second = "0fa1f48c-42c5-5b46-9e4a-5a5b4a0b0f01", "1d2b5d2e-7b0d-5b9b-8f6e-6f4c3f1d0a02"
    port = {
        "request_groups": [
            {
                "id": first,
                "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000},
                "required": ["CUSTOM_PHYSNET_A"],
            },
            {"id": second, "resources": {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 1}},
        ],
        "same_subtree": [first, second],
        "remote_managed": True,
    }

    (found,) = translate({"devices": [port]})

    assert found["holds"]["NET_BW_EGR_KILOBIT_PER_SEC"] == 1000
    for part in (
        f"required{first}=CUSTOM_PHYSNET_A",
        f"same_subtree={first}%2C{second}",
        "COMPUTE_REMOTE_MANAGED",
    ):
        assert part in found["query"]


def test_groups_of_ports_without_an_id_have_suffixes_that_placement_accepts(translate):
    group = {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}}

    (found,) = translate(
        {"devices": [{"request_groups": [group, group]}, {"request_groups": [group]}]}
    )

    for suffix in ("_0-0", "_0-1", "_1-0"):
        assert f"resources{suffix}=NET_BW_EGR_KILOBIT_PER_SEC%3A1000" in found["query"]


def test_guests_may_come_from_standard_input(sqlite_site, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(GUESTS).encode())))

    assert len(sqlite_site.run("request", "--json", "-").json) == len(GUESTS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "Expecting value"),
        ("{}", "it must be a JSON list"),
        ("[1]", "[0] must be an object"),
        ('[{}, {"flavor": []}]', "[1].flavor must be an object"),
        ('[{"flavor": {"vcpus": "4"}}]', "[0].flavor.vcpus must be a whole number"),
        ('[{"flavor": {"ram": 0.5}}]', "[0].flavor.ram must be a whole number"),
        ('[{"flavor": {"extra_specs": {"a": null}}}]', "[0].flavor.extra_specs[a] must be text"),
        ('[{"image": {"properties": 1}}]', "[0].image.properties must be an object"),
        ('[{"image": {"disk_format": true}}]', "[0].image.disk_format must be text"),
        ('[{"is_bfv": "no"}]', "[0].is_bfv must be true or false"),
        ('[{"devices": {}}]', "[0].devices must be a list"),
        ('[{"flavor": {"name": "\\ud800"}}]', "surrogates not allowed"),
        ("[" * 100000, "recursion"),
    ],
)
def test_input_that_is_not_readable_is_2(sqlite_site, tmp_path, text, why):
    (tmp_path / "guests.json").write_text(text)

    ended = sqlite_site.run("request", "--json", str(tmp_path / "guests.json"))

    assert (ended.code, ended.out) == (2, "")
    assert why in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_file_that_is_not_there_is_2(sqlite_site, tmp_path):
    ended = sqlite_site.run("request", "--json", str(tmp_path / "none.json"))

    assert (ended.code, ended.out) == (2, "")
    assert "No such file" in ended.err


def test_a_flavor_of_the_records_is_told_for_people(sqlite_site):
    sqlite_site.guest(flavor=Flavor(4, 8192, 20, name="pinned", extra_specs=SPECS))

    ended = sqlite_site.run("request", "--flavor", "pinned")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "Nova asks placement for:",
        "  required=CUSTOM_GOLD",
        "  resources=DISK_GB:20, MEMORY_MB:8192, PCPU:4",
        "  root_required=OWNER_NOVA, !COMPUTE_STATUS_DISABLED",
        "For hosts that don't report PCPU it asks as well for:",
        "  required=CUSTOM_GOLD",
        "  resources=DISK_GB:20, MEMORY_MB:8192, VCPU:4",
        "  root_required=OWNER_NOVA, !COMPUTE_STATUS_DISABLED",
        "The guest holds then: DISK_GB 20, MEMORY_MB 8192, PCPU 4.",
        "hw:numa_nodes=2 is not in the request: NUMATopologyFilter judges it.",
    ]


def test_options_describe_a_flavor(sqlite_site):
    specs = ("--extra-spec", "hw:cpu_policy=mixed", "--extra-spec", "hw:cpu_dedicated_mask=^0")

    ended = sqlite_site.run("request", *specs, "--vcpus", "4", "--ram", "512", "--disk", "1")

    assert "PCPU:3, VCPU:1" in ended.out
    assert "MEMORY_MB:512" in ended.out
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_a_refusal_is_told_with_0(sqlite_site):
    ended = sqlite_site.run("request", "--extra-spec", "hw:cpu_policy=mixed")

    assert (ended.code, ended.err) == (0, "")
    assert " ".join(ended.out.split()) == (
        "Nova refuses such a guest: hw:cpu_policy=mixed asks for either hw:cpu_dedicated_mask or "
        "hw:cpu_realtime."
    )


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("--flavor", "none"), 2, "No instance in the records has the flavor 'none'"),
        ((), 127, "either --json, or --flavor and --extra-spec"),
        (("--json", "-", "--flavor", "a"), 127, "either --json"),
        (("--json", "-", "--vcpus", "2"), 127, "either --json"),
        (("--extra-spec", "a"), 127, "it must be KEY=VALUE"),
        (("--vcpus", "-1"), 127, "numbers from 0"),
    ],
)
def test_bad_usage_is_told(sqlite_site, arguments, code, why):
    ended = sqlite_site.run("request", *arguments)

    assert (ended.code, ended.out) == (code, "")
    assert why in ended.err


def test_an_alias_that_is_none_is_bad_configuration(sqlite_site):
    sqlite_site.configure(more="[pci]\nalias = {}\n")

    ended = sqlite_site.run("request", "--extra-spec", "a=b")

    assert ended.code == 127
    assert "[pci]alias has no name" in ended.err


def test_the_program_needs_neither_placement_nor_records(tmp_path, forking):
    (tmp_path / "guests").write_text(json.dumps(GUESTS))

    program = Forked(_ask, [str(tmp_path)], {**os.environ})
    said, complaints = program.communicate()

    assert (program.returncode, complaints) == (0, "")
    assert [one["refused"] is None for one in json.loads(said)] == [True, True, False, True]


def _ask(folder):
    """In a forked process: ask in a folder that has nothing but the guests."""
    os.chdir(folder[0])
    with open("guests") as sys.stdin:
        return main(["placement", "request", "--json", "-"])
