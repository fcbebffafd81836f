"""What nova's scheduler asks placement for an instance of a flavor.

Nova checks more: its filters, and what images, ports and availability zones ask for.
"""

import collections
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compute.consumers.instance_resources import disk_gb
from compute.records.instance import Flavor
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest

_RESOURCE = re.compile(r"resources([A-Za-z0-9_-]{1,64})?:([^:]+)")
_TRAIT = re.compile(r"trait([A-Za-z0-9_-]{1,64})?:([^:]+)")
_AMOUNT = re.compile(r"[0-9]+", re.ASCII)
_CPUS = re.compile(r"(\^?)([0-9]+)(?:-([0-9]+))?", re.ASCII)
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
#: the trait of hosts whose compute service is disabled; the scheduler never asks for them
DISABLED = "COMPUTE_STATUS_DISABLED"
_HYPERTHREADING = "HW_CPU_HYPERTHREADING"

#: extra spec → value → the trait that the host must have
_TRAITS_OF: Mapping[str, Mapping[str, str]] = {
    "hw:maxphysaddr_mode": {
        "passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
        "emulate": "COMPUTE_ADDRESS_SPACE_EMULATED",
    },
    "hw:tpm_model": {
        "tpm-tis": "COMPUTE_SECURITY_TPM_TIS",
        "tpm-crb": "COMPUTE_SECURITY_TPM_CRB",
    },
    "hw:tpm_version": {
        "1.2": "COMPUTE_SECURITY_TPM_1_2",
        "2.0": "COMPUTE_SECURITY_TPM_2_0",
    },
    "os:secure_boot": {"required": "COMPUTE_SECURITY_UEFI_SECURE_BOOT"},
}
#: extra spec → what it asks for that only another service or nova's configuration can say
_ELSEWHERE: Mapping[str, str] = {
    "accel:device_profile": "cyborg knows the devices",
    "pci_passthrough:alias": "nova's configuration knows the devices",
}


@dataclass(frozen=True)
class FlavorRequest:
    """What the scheduler asks for.

    :param left_out: a sentence for each extra spec that asks for something that isn't in `request`
    """

    request: ResourceRequest
    left_out: tuple[str, ...] = ()


@dataclass
class _Group:
    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)

    def done(self) -> RequestGroup:
        amounts = {name: amount for name, amount in self.resources.items() if amount}
        return RequestGroup(amounts, frozenset(self.required), frozenset(self.forbidden))


def flavor_request(flavor: Flavor, booted_from_volume: bool = False) -> FlavorRequest:
    """Translate a flavor with its extra specs, as nova's scheduler does.

    `resources:CLASS=0` removes a class. An extra spec with a value that the scheduler can't use is
    left out, as there. Hosts whose compute service is disabled are excluded.

    :param booted_from_volume: the root disk takes no disk of the host then
    """
    specs, left_out = flavor.extra_specs, list[str]()
    groups: dict[str, _Group] = collections.defaultdict(_Group)
    main = groups[""]
    main.resources = processors(flavor, left_out) | {
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": disk_gb(flavor, booted_from_volume),
    }
    _add_features(specs, main)
    for name, value in sorted(specs.items()):
        if found := _RESOURCE.fullmatch(name):
            if _AMOUNT.fullmatch(value.strip()):
                groups[found[1] or ""].resources[found[2]] = int(value)
            else:
                left_out.append(_unusable(name, value, "a whole number"))
        elif found := _TRAIT.fullmatch(name):
            group = groups[found[1] or ""]
            if value not in ("required", "forbidden"):
                left_out.append(_unusable(name, value, "required or forbidden"))
                continue
            (group.required if value == "required" else group.forbidden).add(found[2])
        elif name in _ELSEWHERE:
            left_out.append(f"{name}={value} is not in the request: {_ELSEWHERE[name]}.")
    done = {suffix: group.done() for suffix, group in groups.items()}
    policy = specs.get("group_policy")
    if policy not in (None, "none", "isolate"):
        left_out.append(_unusable("group_policy", policy, "none or isolate"))
        policy = None
    request = ResourceRequest(
        {suffix: group for suffix, group in done.items() if group != RequestGroup()},
        group_policy=policy,
        root_forbidden=frozenset({DISABLED}),
    )
    return FlavorRequest(request, tuple(left_out))


def _unusable(name: str, value: str, wanted: str) -> str:
    return f"{name}={value} is ignored: it must be {wanted}."


def processors(flavor: Flavor, left_out: list[str]) -> dict[str, int]:
    """Return VCPU and PCPU by `hw:cpu_policy`; `resources:` extra specs of these come instead.

    Add to `left_out` what of the flavor makes no sense.
    """
    specs, vcpus = flavor.extra_specs, flavor.vcpus
    policy = specs.get("hw:cpu_policy", "shared")
    if policy == "dedicated":
        dedicated = vcpus
    elif policy == "mixed":
        dedicated = _masked(specs, vcpus, left_out)
    else:
        if policy != "shared":
            left_out.append(_unusable("hw:cpu_policy", policy, "dedicated, mixed or shared"))
        dedicated = 0
    if not dedicated or {"resources:VCPU", "resources:PCPU"} & specs.keys():
        return {"VCPU": vcpus}
    own = specs.get("hw:emulator_threads_policy") == "isolate"
    return {"VCPU": vcpus - dedicated, "PCPU": dedicated + own}


def _masked(specs: Mapping[str, str], vcpus: int, left_out: list[str]) -> int:
    """Return how many processors of a `mixed` flavor are dedicated."""
    for name in ("hw:cpu_dedicated_mask", "hw:cpu_realtime_mask"):
        if name not in specs:
            continue
        parts = [_CPUS.fullmatch(part.strip()) for part in specs[name].split(",")]
        if all(parts):
            return len(_chosen([part for part in parts if part], vcpus))
        left_out.append(_unusable(name, specs[name], "a list of processors such as 0-3,^1"))
    return 0


def _chosen(parts: Iterable[re.Match[str]], vcpus: int) -> set[int]:
    everything, chosen, excluded = set(range(vcpus)), set[int](), set[int]()
    for part in parts:
        last = min(int(part[3] or part[2]), vcpus - 1)
        (excluded if part[1] else chosen).update(range(int(part[2]), last + 1))
    # a list of exclusions alone means all others
    return (chosen or everything) - excluded


def _add_features(specs: Mapping[str, str], main: _Group) -> None:
    """Add what extra specs ask for that name no class or trait themselves."""
    for name, traits in _TRAITS_OF.items():
        if specs.get(name) in traits:
            main.required.add(traits[specs[name]])
    if _is_true(specs.get("hw:virtio_packed_ring")):
        main.required.add("COMPUTE_NET_VIRTIO_PACKED")
    if specs.get("hw:cpu_policy") in ("dedicated", "mixed"):
        threads = specs.get("hw:cpu_thread_policy")
        if threads == "require":
            main.required.add(_HYPERTHREADING)
        elif threads == "isolate":
            main.forbidden.add(_HYPERTHREADING)
    if _is_true(specs.get("hw:mem_encryption")):
        main.resources["MEM_ENCRYPTION_CONTEXT"] = 1
    labels = [label.strip() for label in specs.get("hw:pmem", "").split(",") if label.strip()]
    for label, count in collections.Counter(labels).items():
        main.resources[f"CUSTOM_PMEM_NAMESPACE_{label.upper()}"] = count


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() in _TRUE
