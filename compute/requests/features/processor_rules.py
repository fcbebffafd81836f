"""Which processors nova refuses, though each value is one."""

import dataclasses
import re
from collections.abc import Mapping

from compute.requests.features.processors import (
    DEDICATED,
    EMULATOR,
    HYPERTHREADING,
    MIXED,
    Processors,
)
from compute.requests.reading.asked import Asked
from compute.requests.reading.refusal import Refused
from compute.requests.reading.values import whole_number

# Nova doesn't look at what follows.
_EXPLICIT = re.compile(r"resources[0-9]*:([VP])CPU")
_TRAIT = re.compile(rf"trait[0-9]*:{HYPERTHREADING}")


def check_processors(asked: Asked, processors: Processors) -> bool:
    """Say whether the guest has processors of its own; raise Refused for what contradicts itself.

    Processors of its own come by a policy, or by `resources:PCPU`.
    """
    policy, threads = processors.policy, processors.threads
    shared, own = _explicit(asked.specs, "V"), _explicit(asked.specs, "P")
    if policy and (shared or own):
        raise Refused(
            f"resources:VCPU and resources:PCPU exclude the policy of processors {policy}."
        )
    if shared and own:
        raise Refused("resources:VCPU and resources:PCPU exclude each other.")
    if own:
        _check_number(asked.flavor.vcpus, own, processors.emulator)
        policy = DEDICATED
    if trait := _trait(asked):
        if threads:
            raise Refused(f"The trait {HYPERTHREADING} excludes the policy of threads {threads}.")
        threads = {"forbidden": "isolate", "required": "require"}.get(trait, threads)
    if policy == MIXED and (processors.masked is None) == (processors.realtime is None):
        raise Refused(
            "hw:cpu_policy=mixed asks for either hw:cpu_dedicated_mask or hw:cpu_realtime."
        )
    if policy != MIXED and processors.masked is not None:
        raise Refused("hw:cpu_dedicated_mask asks for hw:cpu_policy=mixed.")
    if policy in (DEDICATED, MIXED):
        if threads == "":
            raise Refused("hw:cpu_thread_policy must be one of prefer, isolate, require.")
        return True
    _check_shared(dataclasses.replace(processors, threads=threads))
    return False


def _check_number(vcpus: int, own: int, emulator: str) -> None:
    if own != vcpus + (emulator == "isolate"):
        one = f", and one more for {EMULATOR}=isolate" if emulator == "isolate" else ""
        raise Refused(f"resources:PCPU={own} must be the flavor's {vcpus} processors{one}.")


def _check_shared(processors: Processors) -> None:
    for there, name in (
        (processors.threads, "hw:cpu_thread_policy"),
        (processors.emulator == "isolate", f"{EMULATOR}=isolate"),
        (processors.realtime is not None, "hw:cpu_realtime"),
    ):
        if there:
            raise Refused(f"{name} asks for processors of the guest's own.")


def _explicit(specs: Mapping[str, str], kind: str) -> int:
    """Return how many processors the extra specs name as classes."""
    return sum(
        whole_number(value) or 0
        for name, value in specs.items()
        if (match := _EXPLICIT.match(name)) and match[1] == kind
    )


def _trait(asked: Asked) -> str | None:
    """Return what the flavor says of the trait, in any group, else the image."""
    for name, value in asked.specs.items():
        if _TRAIT.match(name):
            return value
    return "required" if HYPERTHREADING in asked.image.required else None
