"""Whatever a flavor and an image say, they're translated or refused with a sentence."""

import collections
from urllib.parse import parse_qs

from hypothesis import given, settings
from hypothesis import strategies as st

from compute.records.instance import Flavor
from compute.requests.reading import image_values
from compute.requests.reading.image import GuestImage
from compute.requests.reading.refusal import Refused
from compute.requests.settings import PciAlias, Settings
from compute.requests.translation import healed_amounts, request_of
from tests.extent import examples

WORDS = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "2",
            "4",
            "-1",
            " 2 ",
            "1.0",
            "x",
            "true",
            "no",
            "required",
            "forbidden",
            "isolate",
            "share",
            "none",
            "dedicated",
            "mixed",
            "any",
            "2MB",
            "gpu:1",
            "uefi",
            "q35",
            "^0",
            "0-1",
            " 0 - 1 ,, 3",
            "^0,2",
            "4-1",
            "0-99999999999",
            "virtio",
            "luks",
            "2.0",
        ]
    ),
    st.text(max_size=8),
)
CLASSES = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU", "CUSTOM_A", "vgpu"]
FEATURES = [
    "cpu_policy",
    "cpu_dedicated_mask",
    "cpu_realtime",
    "cpu_realtime_mask",
    "cpu_thread_policy",
    "emulator_threads_policy",
    "numa_nodes",
    "numa_cpus.0",
    "numa_mem.0",
    "mem_page_size",
    "locked_memory",
    "mem_encryption",
    "mem_encryption_model",
    "pmem",
    "tpm_version",
    "tpm_model",
    "tpm_secret_security",
    "maxphysaddr_mode",
    "pci_numa_affinity_policy",
    "virtio_packed_ring",
    "sound_model",
    "ephemeral_encryption",
    "ephemeral_encryption_format",
    "pmu",
    "serial_port_count",
    "cpu_sockets",
    "cpu_max_cores",
]
SPECS = st.one_of(
    st.sampled_from([f"hw:{name}" for name in FEATURES]),
    st.sampled_from(["pci_passthrough:alias", "group_policy", "os:secure_boot", "ssd"]),
    st.builds("resources{}:{}".format, st.sampled_from(["", "1", "_A"]), st.sampled_from(CLASSES)),
    st.builds("trait{}:{}".format, st.sampled_from(["", "1", "_A"]), st.sampled_from(CLASSES)),
    st.text(max_size=12),
)
KNOWN = [
    *image_values.EXACT,
    *image_values.ANY_CASE,
    *image_values.BOOLEANS,
    *image_values.NUMBERS,
    *image_values.TEXTS,
    *image_values.LISTS,
    *image_values.VERSIONS,
    *image_values.OLD_NAMES,
    *("vmware_adaptertype", "trait:CUSTOM_A", "hw_numa_cpus.0", "hw_numa_mem.0"),
]
VALUES = st.one_of(
    WORDS,
    st.sampled_from(sorted({value for found in image_values.EXACT.values() for value in found})),
    st.sampled_from([None, True, 1, 1.5, [], [{}], {}]),
)
FLAVORS = st.builds(
    Flavor,
    st.integers(0, 8),
    st.integers(0, 8192),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(0, 3000),
    st.dictionaries(SPECS, WORDS, max_size=6),
)
IMAGES = st.builds(
    GuestImage,
    st.dictionaries(st.one_of(st.sampled_from(KNOWN), st.text(max_size=9)), VALUES, max_size=4),
    st.sampled_from([None, "", "qcow2", "RAW", "x"]),
)
SETTINGS = st.builds(
    Settings,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([{}, {"gpu": PciAlias("CUSTOM_GPU", frozenset({"CUSTOM_FAST"}))}]),
    st.booleans(),
)


def translated(*asked):
    """Return the request, or why there is none."""
    flavor, image, options, booted_from_volume = asked
    try:
        return request_of(flavor, image, (), options, booted_from_volume), ""
    except Refused as refused:
        return None, str(refused)


@settings(max_examples=examples(150, 3000), deadline=None)
@given(FLAVORS, IMAGES, SETTINGS, st.booleans())
def test_a_guest_is_translated_or_refused(flavor, image, options, booted_from_volume):
    assert all(amount > 0 for amount in healed_amounts(flavor, booted_from_volume).values())
    found, refused = translated(flavor, image, options, booted_from_volume)
    if found is None:
        assert refused.endswith(".")
        return
    for request in filter(None, (found.request, found.fallback)):
        query = parse_qs(request.to_querystring(), keep_blank_values=True, strict_parsing=True)
        named = [name for name in query if name.startswith("resources")]
        asked = collections.Counter()
        for name in named:
            for part in filter(None, query[name][0].split(",")):
                *words, amount = part.split(":")
                asked[":".join(words)] += int(amount)
        if request is found.request:
            assert asked == found.holds
