"""Which features the processors of guests have, as [libvirt]cpu_mode and its neighbours decide."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from xml.sax.saxutils import escape

from compute import exceptions
from virt.libvirt.capabilities_xml import Capabilities, parse_cpu_features
from virt.libvirt.hypervisor import Hypervisor

# Guests of other types have no processor model.
_TYPES_WITH_MODELS = ("kvm", "qemu")
# What QEMU gives guests of x86 that nobody chose a model for.
_QEMU_DEFAULT = "qemu64"
_X86 = ("x86_64", "i686")


@dataclass(frozen=True)
class CpuOptions:
    """The options of group [libvirt] of the same names."""

    cpu_mode: str | None = None
    cpu_models: tuple[str, ...] = ()
    cpu_model_extra_flags: tuple[str, ...] = ()
    virt_type: str = "kvm"


def guest_features(
    host: Capabilities, hypervisor: Hypervisor, options: CpuOptions
) -> frozenset[str]:
    """Return the features that guests' processors have, in libvirt's words.

    By default these are the host's: those that libvirt lists, and those that its model implies.
    Raises InvalidConfiguration if libvirt doesn't know a configured model.
    """
    if options.virt_type not in _TYPES_WITH_MODELS:
        return frozenset()
    if options.cpu_mode == "none":
        if host.architecture not in _X86:
            return _of_host(host, hypervisor)
        return _of_models(host, hypervisor, [_QEMU_DEFAULT])
    if options.cpu_mode == "custom":
        models = _known(hypervisor.cpu_models(host.architecture), options.cpu_models)
        features = _of_models(host, hypervisor, models)
    else:
        features = _of_host(host, hypervisor)
    added = (flag.strip().lower() for flag in options.cpu_model_extra_flags)
    return features | {flag.removeprefix("+") for flag in added if not flag.startswith("-")}


def _known(known: Collection[str] | None, models: Iterable[str]) -> list[str]:
    """Return the models as libvirt spells them; `known` is None if it doesn't tell."""
    if known is None:
        return list(models)
    spelled = {one.lower(): one for one in known}
    unknown = [one for one in models if one.lower() not in spelled]
    if unknown:
        raise exceptions.InvalidConfiguration(
            f"[libvirt]cpu_models has {', '.join(unknown)}, which this host's libvirt doesn't know."
        )
    return [spelled[one.lower()] for one in models]


def _of_models(host: Capabilities, hypervisor: Hypervisor, models: Iterable[str]) -> frozenset[str]:
    vendor = f"<vendor>{escape(host.vendor)}</vendor>" if host.vendor else ""
    found: frozenset[str] = frozenset()
    for model in models:
        expanded = hypervisor.all_features(
            f"<cpu><arch>{escape(host.architecture)}</arch><model>{escape(model)}</model>{vendor}"
            "</cpu>"
        )
        if expanded is None:
            # This hypervisor can't write models out.
            return host.features
        found |= parse_cpu_features(expanded)
    return found


def _of_host(host: Capabilities, hypervisor: Hypervisor) -> frozenset[str]:
    expanded = hypervisor.all_features(host.cpu) if host.model else None
    return host.features if expanded is None else host.features | parse_cpu_features(expanded)
