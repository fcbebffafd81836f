"""Which processors guests have: as nova 34 finds their features."""

import re

import pytest

from compute.exceptions import InvalidConfiguration
from virt.libvirt.capabilities_xml import Capabilities
from virt.libvirt.guest_cpu import CpuOptions, guest_features

HOST = Capabilities(
    architecture="x86_64",
    vendor="Intel",
    model="Haswell",
    features=frozenset({"vmx", "avx"}),
    hyperthreading=False,
    cells=(),
    cpu="<cpu><arch>x86_64</arch><model>Haswell</model></cpu>",
    guest_kinds=(),
)


class Library:
    """Knows the features of models, like libvirt."""

    MODELS = {"Haswell": "avx2", "Nehalem": "sse4.2", "Penryn": "mmx", "qemu64": "sse2"}

    def __init__(self, tells=True):
        self.tells = tells

    def cpu_models(self, architecture):
        return list(self.MODELS) if self.tells else None

    def all_features(self, cpu):
        if not self.tells:
            return None
        model = re.search("<model>(.*?)</model>", cpu)[1]
        return f"<cpu><feature policy='require' name='{self.MODELS[model]}'/></cpu>"


@pytest.mark.parametrize(
    ("options", "features"),
    [
        ({}, {"vmx", "avx", "avx2"}),
        ({"cpu_mode": "host-model"}, {"vmx", "avx", "avx2"}),
        ({"cpu_mode": "host-passthrough"}, {"vmx", "avx", "avx2"}),
        ({"cpu_mode": "none"}, {"sse2"}),
        ({"cpu_mode": "custom", "cpu_models": ("Penryn",)}, {"mmx"}),
        ({"cpu_mode": "custom", "cpu_models": ("penryn", "Nehalem")}, {"mmx", "sse4.2"}),
        (
            {
                "cpu_mode": "custom",
                "cpu_models": ("Nehalem",),
                "cpu_model_extra_flags": ("+AES", " pcid", "-sse4.2"),
            },
            {"sse4.2", "aes", "pcid"},
        ),
        ({"cpu_model_extra_flags": ("pcid",)}, {"vmx", "avx", "avx2", "pcid"}),
        ({"cpu_mode": "none", "cpu_model_extra_flags": ("pcid",)}, {"sse2"}),
        ({"virt_type": "lxc"}, set()),
        ({"virt_type": "qemu"}, {"vmx", "avx", "avx2"}),
    ],
)
def test_they_have_what_the_options_say(options, features):
    assert guest_features(HOST, Library(), CpuOptions(**options)) == features


@pytest.mark.parametrize("options", [{}, {"cpu_mode": "custom", "cpu_models": ("Penryn",)}])
def test_a_hypervisor_that_knows_no_models_has_the_hosts_features(options):
    assert guest_features(HOST, Library(tells=False), CpuOptions(**options)) == HOST.features


def test_a_model_that_libvirt_does_not_know_is_refused():
    options = CpuOptions(cpu_mode="custom", cpu_models=("Penryn", "Skylark"))
    with pytest.raises(InvalidConfiguration, match="cpu_models has Skylark, which"):
        guest_features(HOST, Library(), options)
