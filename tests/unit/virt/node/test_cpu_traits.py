import os_traits
import pytest

from tests.unit.virt.host.machines import ARM_CPUINFO, cpuinfo
from virt.host.kernel_facts import parse_cpuinfo
from virt.node.cpu_traits import cpu_traits
from virt.node.facts import Processor


def traits_of(features, vendor="GenuineIntel", hyperthreading=False):
    return cpu_traits(parse_cpuinfo(cpuinfo(1, f"fpu lm {features}", vendor)), hyperthreading)


def present(traits):
    return {name for name, has in traits.items() if has}


@pytest.mark.parametrize(
    ("flag", "trait"),
    [
        ("avx", "HW_CPU_X86_AVX"),
        ("pni", "HW_CPU_X86_SSE3"),
        ("sse4_1", "HW_CPU_X86_SSE41"),
        ("aes", "HW_CPU_X86_AESNI"),
        ("fma", "HW_CPU_X86_FMA3"),
        ("sha_ni", "HW_CPU_X86_SHA"),
        ("avx512_vnni", "HW_CPU_X86_AVX512VNNI"),
        ("pclmulqdq", "HW_CPU_X86_CLMUL"),
        ("rtm", "HW_CPU_X86_TSX"),
    ],
)
def test_a_flag_gives_its_trait_and_without_it_the_trait_is_false(flag, trait):
    assert (traits_of(flag)[trait], traits_of("")[trait]) == (True, False)


@pytest.mark.parametrize(
    ("flags", "vendor", "traits"),
    [
        ("vmx", "GenuineIntel", {"HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX"}),
        ("svm", "AuthenticAMD", {"HW_CPU_X86_SVM", "HW_CPU_X86_AMD_SVM"}),
        ("ibrs ibpb", "GenuineIntel", {"HW_CPU_X86_INTEL_SPEC_CTRL"}),
        ("ibrs ibpb", "AuthenticAMD", {"HW_CPU_X86_AMD_IBPB"}),
        ("ssbd", "GenuineIntel", {"HW_CPU_X86_INTEL_SSBD"}),
        ("ssbd", "AuthenticAMD", set()),
    ],
)
def test_some_flags_mean_another_trait_on_another_vendors_processor(flags, vendor, traits):
    assert present(traits_of(flags, vendor)) - {"HW_ARCH_X86_64"} == traits


def test_vaes_without_avx512_is_not_the_avx512_trait():
    assert traits_of("vaes avx2")["HW_CPU_X86_AVX512VAES"] is False
    assert traits_of("vaes avx512f")["HW_CPU_X86_AVX512VAES"] is True


def test_aarch64_features_give_aarch64_traits():
    traits = cpu_traits(parse_cpuinfo(ARM_CPUINFO), hyperthreading=False)

    assert present(traits) == {
        "HW_ARCH_AARCH64",
        "HW_CPU_AARCH64_FP",
        "HW_CPU_AARCH64_ASIMD",
        "HW_CPU_AARCH64_EVTSTRM",
        "HW_CPU_AARCH64_AES",
        "HW_CPU_AARCH64_PMULL",
        "HW_CPU_AARCH64_SHA1",
        "HW_CPU_AARCH64_SHA2",
        "HW_CPU_AARCH64_CRC32",
        "HW_CPU_AARCH64_ATOMICS",
        "HW_CPU_AARCH64_CPUID",
    }


@pytest.mark.parametrize(
    ("architecture", "trait"),
    [
        ("ppc64le", "HW_ARCH_PPC64LE"),
        ("s390x", "HW_ARCH_S390X"),
        ("armv7l", "HW_ARCH_ARMV7"),
        ("i686", "HW_ARCH_I686"),
    ],
)
def test_an_architecture_that_is_told_is_the_only_one(architecture, trait):
    traits = cpu_traits(Processor("", "", frozenset(), 1), False, architecture)

    assert (present(traits), traits["HW_ARCH_X86_64"]) == ({trait}, False)


def test_an_architecture_without_a_trait_has_none():
    traits = cpu_traits(Processor("", "", frozenset(), 1), False, "riscv128")

    assert present(traits) == set()


def test_an_architecture_has_no_say_on_the_others_traits():
    arm = cpu_traits(parse_cpuinfo(ARM_CPUINFO), hyperthreading=False)

    assert not [name for name in arm if "X86" in name]


def test_an_unknown_architecture_decides_on_hyperthreading_only():
    processor = Processor(vendor="", model="", features=frozenset(), threads_per_core=4)

    assert cpu_traits(processor, hyperthreading=True) == {"HW_CPU_HYPERTHREADING": True}


@pytest.mark.parametrize("text", [cpuinfo(1), ARM_CPUINFO])
def test_all_traits_are_standard_ones(text):
    traits = cpu_traits(parse_cpuinfo(text), hyperthreading=True)

    assert os_traits.check_traits(traits)[1] == set()


def test_traits_the_installed_os_traits_does_not_know_are_left_out(monkeypatch):
    known = os_traits.check_traits

    def older_os_traits(traits):
        found, unknown = known(traits)
        return found - {"HW_CPU_X86_AVX"}, unknown | {"HW_CPU_X86_AVX"}

    monkeypatch.setattr(os_traits, "check_traits", older_os_traits)

    assert "HW_CPU_X86_AVX" not in traits_of("avx")
