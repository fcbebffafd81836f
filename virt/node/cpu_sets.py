"""Which of the host's processors are for VCPU and which for PCPU (compute.md §6.5, §11)."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from oslo_config import cfg

from compute import exceptions

PINNED = "vcpu_pin_set"
SHARED = "[compute]cpu_shared_set"
DEDICATED = "[compute]cpu_dedicated_set"
POWER_MANAGEMENT = "[libvirt]cpu_power_management"

_RANGE = re.compile(r"(\d+)\s*(?:-\s*(\d+))?")
_HIGHEST_CPU = 2**16  # far above any CONFIG_NR_CPUS; so `0-9999999999` makes no huge set


@dataclass(frozen=True)
class ConfiguredCpus:
    """What the options say; None for an option that isn't set.

    `shared_option` is the name of the option that the shared processors are from. With
    `may_be_offline`, dedicated processors are switched off while no guest has them.
    """

    shared: frozenset[int] | None
    dedicated: frozenset[int] | None
    shared_option: str
    may_be_offline: bool = False


@dataclass(frozen=True)
class CpuSets:
    """The processors that guests share, and those that a guest gets to itself."""

    shared: frozenset[int]
    dedicated: frozenset[int]


def parse_cpu_spec(text: str) -> frozenset[int]:
    """Read a list like `4-12,^8,15`: numbers and ranges, some taken out again with `^`.

    Raises ValueError, also for a list that leaves no processor.
    """
    chosen: set[int] = set()
    excluded: set[int] = set()
    for part in text.split(","):
        is_excluded = part.strip().startswith("^")
        cpus = cpu_range(part.strip().removeprefix("^").strip())
        (excluded if is_excluded else chosen).update(cpus)
    if not chosen - excluded:
        raise ValueError(f"{text!r} leaves no processor")
    return frozenset(chosen - excluded)


def cpu_range(text: str) -> range:
    """Read one number, or a range like `4-12`. Raises ValueError for any other text."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a processor number or range")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise ValueError(f"{text!r} is a range that runs backwards")
    if last > _HIGHEST_CPU:
        raise ValueError(f"{text!r} is beyond any processor there is")
    return range(first, last + 1)


def configured_cpus(conf: cfg.ConfigOpts) -> ConfiguredCpus:
    """Read the options.

    Raises InvalidConfiguration if an option can't be read, if a processor is in both sets, or if
    `reserved_host_cpus` is set although the sets already leave out what the host keeps.
    """
    pinned = _read(PINNED, conf.vcpu_pin_set)
    shared = _read(SHARED, conf.compute.cpu_shared_set)
    dedicated = _read(DEDICATED, conf.compute.cpu_dedicated_set)
    for option, cpus in ((SHARED, shared), (DEDICATED, dedicated)):
        if cpus and conf.reserved_host_cpus:
            raise exceptions.InvalidConfiguration(
                f"reserved_host_cpus must be 0 where {option} is set: processors that are in no "
                "set are the host's."
            )
    shared_option = SHARED if pinned is None else PINNED
    shared = shared if pinned is None else pinned
    both = (shared or frozenset()) & (dedicated or frozenset())
    if both:
        raise exceptions.InvalidConfiguration(
            f"{shared_option} and {DEDICATED} both have {listed(both)}: a processor is either "
            "shared or dedicated."
        )
    managed = conf.libvirt.cpu_power_management
    may_be_offline = managed and conf.libvirt.cpu_power_management_strategy == "cpu_state"
    return ConfiguredCpus(shared, dedicated, shared_option, may_be_offline)


def cpu_sets(
    configured: ConfiguredCpus, online: Collection[int], offline: Collection[int] = ()
) -> CpuSets:
    """Return the sets on a host with these processors.

    Without any option all that are online are shared; with a dedicated set alone, none. Raises
    InvalidConfiguration if an option has a processor that isn't there, or isn't online and must be.
    """
    for option, cpus, allowed in (
        (configured.shared_option, configured.shared, ()),
        (DEDICATED, configured.dedicated, offline if configured.may_be_offline else ()),
    ):
        absent = (cpus or frozenset()).difference(online, allowed)
        if absent:
            hint = ""
            if option == DEDICATED and absent.issubset(offline):
                hint = (
                    f" Dedicated processors may be offline with {POWER_MANAGEMENT} and its "
                    "strategy cpu_state."
                )
            raise exceptions.InvalidConfiguration(
                f"{option} has {listed(absent)}, but online are {listed(online)}.{hint}"
            )
    shared = configured.shared
    if shared is None:
        shared = frozenset() if configured.dedicated else frozenset(online)
    return CpuSets(shared, configured.dedicated or frozenset())


def listed(cpus: Iterable[int]) -> str:
    """Write processors for people: `CPU 3`, `CPUs 0-3, 8`."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    if not ranges:
        return "no CPU"
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"CPU{'' if single else 's'} {', '.join(texts)}"


def _read(option: str, text: str | None) -> frozenset[int] | None:
    if text is None or not text.strip():
        return None
    try:
        return parse_cpu_spec(text)
    except ValueError as error:
        raise exceptions.InvalidConfiguration(f"{option}: {error}") from error
