"""Processor features as traits of the host's root provider.

The kernel's feature names are those of /proc/cpuinfo: `flags` on x86, `Features` on aarch64.
"""

import os_traits

from virt.node.facts import Processor

HYPERTHREADING = "HW_CPU_HYPERTHREADING"

_X86_FLAGS = {
    "3dnow": "3DNOW",
    "abm": "ABM",
    "aes": "AESNI",
    "amd_ssbd": "AMD_SSBD",
    "amx_bf16": "AMXBF16",
    "amx_int8": "AMXINT8",
    "amx_tile": "AMXTILE",
    "avx": "AVX",
    "avx2": "AVX2",
    "avx512_bitalg": "AVX512BITALG",
    "avx512_vbmi2": "AVX512VBMI2",
    "avx512_vnni": "AVX512VNNI",
    "avx512_vpopcntdq": "AVX512VPOPCNTDQ",
    "avx512bw": "AVX512BW",
    "avx512cd": "AVX512CD",
    "avx512dq": "AVX512DQ",
    "avx512er": "AVX512ER",
    "avx512f": "AVX512F",
    "avx512ifma": "AVX512IFMA",
    "avx512pf": "AVX512PF",
    "avx512vbmi": "AVX512VBMI",
    "avx512vl": "AVX512VL",
    "bmi1": "BMI",
    "bmi2": "BMI2",
    "f16c": "F16C",
    "fma": "FMA3",
    "fma4": "FMA4",
    "md_clear": "INTEL_MD_CLEAR",
    "mmx": "MMX",
    "mpx": "MPX",
    "pcid": "INTEL_PCID",
    "pclmulqdq": "CLMUL",
    "pdpe1gb": "PDPE1GB",
    "pni": "SSE3",
    "rtm": "TSX",
    "sev": "AMD_SEV",
    "sev_es": "AMD_SEV_ES",
    "sev_snp": "AMD_SEV_SNP",
    "sgx": "SGX",
    "sha_ni": "SHA",
    "sse": "SSE",
    "sse2": "SSE2",
    "sse4_1": "SSE41",
    "sse4_2": "SSE42",
    "sse4a": "SSE4A",
    "ssse3": "SSSE3",
    "stibp": "STIBP",
    "svm": "SVM",
    "tbm": "TBM",
    "tdx_host_platform": "INTEL_TDX",
    "virt_ssbd": "AMD_VIRT_SSBD",
    "vmx": "VMX",
    "xop": "XOP",
}

# Traits that need more than one flag. The last three are instructions that began as a part of
# AVX512. Newer processors have them without AVX512, but the trait promises the AVX512 form.
_X86_FLAG_SETS = {
    "AVX512GFNI": {"gfni", "avx512f"},
    "AVX512VAES": {"vaes", "avx512f"},
    "AVX512VPCLMULQDQ": {"vpclmulqdq", "avx512f"},
}

# Flags that mean a different trait on each vendor's processors.
_X86_VENDOR_FLAG_SETS = {
    "GenuineIntel": {
        "INTEL_VMX": {"vmx"},
        "INTEL_SPEC_CTRL": {"ibrs", "ibpb"},
        "INTEL_SSBD": {"ssbd"},
    },
    "AuthenticAMD": {
        "AMD_SVM": {"svm"},
        "AMD_IBPB": {"ibpb"},
    },
}

_AARCH64_FEATURES = (
    "aes",
    "asimd",
    "asimddp",
    "asimdhp",
    "asimdrdm",
    "atomics",
    "cpuid",
    "crc32",
    "dcpop",
    "evtstrm",
    "fcma",
    "fp",
    "fphp",
    "jscvt",
    "lrcpc",
    "pmull",
    "sha1",
    "sha2",
    "sha3",
    "sha512",
    "sm3",
    "sm4",
    "sve",
)


_ARCHITECTURE = "HW_ARCH_"
_X86 = ("x86_64", "i686")

# The hypervisor's name → the trait's, where they differ by more than capitals.
_ARCHITECTURES = {"armv6l": "armv6", "armv7l": "armv7"}


def cpu_traits(
    processor: Processor, hyperthreading: bool, architecture: str = ""
) -> dict[str, bool]:
    """Return trait → whether this machine has it, for all traits that the driver decides.

    The driver owns these names: it adds the true ones and removes the false ones, whoever set them
    (compute.md §6.5, §8). Names the installed os-traits doesn't know are left out. On other
    architectures than x86 and aarch64 there is nothing but hyperthreading, and the architecture
    itself where that is told (`ppc64le`); elsewhere it follows from the features.
    """
    traits = {HYPERTHREADING: hyperthreading}
    if {"fpu", "lm"} & processor.features or architecture in _X86:
        traits |= _x86_traits(processor)
    elif {"fp", "asimd"} & processor.features:
        traits |= _aarch64_traits(processor)
    if architecture:
        mine = _ARCHITECTURE + _ARCHITECTURES.get(architecture, architecture).upper()
        traits |= {name: name == mine for name in os_traits.get_traits(_ARCHITECTURE)}
    known, _unknown = os_traits.check_traits(traits)
    return {trait: present for trait, present in traits.items() if trait in known}


def _x86_traits(processor: Processor) -> dict[str, bool]:
    flags = processor.features
    traits = {suffix: flag in flags for flag, suffix in _X86_FLAGS.items()}
    traits |= {suffix: needed <= flags for suffix, needed in _X86_FLAG_SETS.items()}
    for vendor, flag_sets in _X86_VENDOR_FLAG_SETS.items():
        for suffix, needed in flag_sets.items():
            traits[suffix] = vendor == processor.vendor and needed <= flags
    named = {f"HW_CPU_X86_{suffix}": present for suffix, present in traits.items()}
    return named | {"HW_ARCH_X86_64": "lm" in flags}


def _aarch64_traits(processor: Processor) -> dict[str, bool]:
    named = {
        f"HW_CPU_AARCH64_{feature.upper()}": feature in processor.features
        for feature in _AARCH64_FEATURES
    }
    return named | {"HW_ARCH_AARCH64": True}
