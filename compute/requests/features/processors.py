"""Which processors a guest asks for: shared ones, or some of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from compute.requests.reading import image_values, masks
from compute.requests.reading.asked import Asked
from compute.requests.reading.refusal import Refused, odds, one_of
from compute.requests.reading.values import is_true

DEDICATED, MIXED, SHARED = "dedicated", "mixed", "shared"
EMULATOR = "hw:emulator_threads_policy"
_POLICY, _ISOLATE = "hw:cpu_policy", "isolate"
HYPERTHREADING = "HW_CPU_HYPERTHREADING"
_MASK, _REALTIME_MASK = "hw:cpu_dedicated_mask", "hw:cpu_realtime_mask"


@dataclass(frozen=True)
class Processors:
    """What the policies ask for.

    :param policy: None if nobody names one
    :param threads: prefer, isolate, require, or nothing
    :param emulator: share, isolate, or nothing
    :param masked: how many processors the mask of dedicated ones has, None if there is no mask
    :param realtime: how many processors are of real time, None if none are
    """

    policy: str | None
    threads: str | None
    emulator: str
    masked: int | None
    realtime: int | None

    @property
    def hyperthreading(self) -> str | None:
        """What the policy of threads asks of the trait: required, forbidden, or nothing."""
        return {"isolate": "forbidden", "require": "required"}.get(self.threads or "")


def read_processors(asked: Asked) -> Processors:
    """Return what the policies ask for; raise Refused for a value that is none."""
    return Processors(
        _policy(asked),
        _threads(asked),
        _emulator(asked.specs),
        _masked(asked),
        _realtime(asked),
    )


def amounts_by_policy(asked: Asked) -> Mapping[str, int]:
    """Return the classes that the policies ask for; none if they leave it to the flavor's number.

    Raises Refused for a value that is none.
    """
    policy, vcpus = _policy(asked), asked.flavor.vcpus
    more = _emulator(asked.specs) == _ISOLATE
    if policy == DEDICATED:
        return {"PCPU": vcpus + more}
    if policy == MIXED:
        own = _masked(asked) or _realtime(asked) or 0
        return {"VCPU": vcpus - own, "PCPU": own + more}
    return {}


def names_policy(specs: Mapping[str, str]) -> bool:
    """Say whether the flavor names a policy, be it one that doesn't exist."""
    return bool(specs.get(_POLICY))


def for_emulator(specs: Mapping[str, str]) -> int:
    """Return how many processors threads of the emulator take, beside those of a guest's own."""
    return int(specs.get(EMULATOR) == _ISOLATE)


def _policy(asked: Asked) -> str | None:
    ours, theirs = asked.both("cpu_policy")
    if not ours:
        return str(theirs) if theirs else None
    one_of(_POLICY, ours, image_values.CPU_POLICIES)
    if (ours == MIXED and theirs == DEDICATED) or (ours == SHARED and theirs in (DEDICATED, MIXED)):
        raise odds(_POLICY, ours, "hw_cpu_policy", theirs)
    return ours


def _threads(asked: Asked) -> str | None:
    ours, theirs = asked.both("cpu_thread_policy")
    if ours:
        one_of("hw:cpu_thread_policy", ours, image_values.THREAD_POLICIES)
    if ours in (None, "prefer"):
        return ours or theirs
    if theirs and theirs != ours:
        raise odds("hw:cpu_thread_policy", ours, "hw_cpu_thread_policy", theirs)
    return ours


def _emulator(specs: Mapping[str, str]) -> str:
    value = specs.get(EMULATOR, "")
    if value:
        one_of(EMULATOR, value, ("share", "isolate"))
    return value


def _masked(asked: Asked) -> int | None:
    mask, vcpus = asked.specs.get(_MASK), asked.flavor.vcpus
    if not mask:
        return None
    ranges = masks.of_guest(_MASK, mask, vcpus)
    if not 0 < masks.count_below(ranges, vcpus) < vcpus:
        raise Refused(f"{_MASK}={mask} must leave some of {vcpus} processors, and not all.")
    if masks.count(ranges) != masks.count_below(ranges, vcpus):
        raise Refused(f"{_MASK}={mask} names processors beyond the flavor's {vcpus}.")
    return masks.count(ranges)


def _realtime(asked: Asked) -> int | None:
    vcpus = asked.flavor.vcpus
    if not is_true(asked.specs.get("hw:cpu_realtime")):
        return None
    ours, theirs = asked.both("cpu_realtime_mask")
    name, mask = ("hw_cpu_realtime_mask", theirs) if theirs else (_REALTIME_MASK, ours)
    if mask:
        ranges = masks.of_guest(name, mask, vcpus)
        found = masks.count(ranges)
        if not found or found != masks.count_below(ranges, vcpus):
            raise Refused(f"{name}={mask} must name some of the flavor's {vcpus} processors.")
    else:
        found = vcpus
    if found >= vcpus and not asked.specs.get(EMULATOR):
        raise Refused(
            f"hw:cpu_realtime asks for a mask that leaves a processor, or for {EMULATOR}."
        )
    return found
