"""VCPU of guests that have processors to themselves becomes PCPU (compute.md §6.5.2)."""

from collections.abc import Callable, Collection, Mapping

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, take
from compute.provider_tree.stock import Stock

VCPU = "VCPU"
PCPU = "PCPU"


def dedicate(
    allocations: Allocations,
    providers: Collection[str],
    is_pinned: Callable[[str], bool],
    inventories: Mapping[str, Mapping[str, object]],
) -> None:
    """Turn the VCPU of pinned consumers into as many PCPU, where they hold it, in place.

    :param providers: uuids of the node's own providers; what consumers hold elsewhere stays
    :param is_pinned: says whether a consumer's guest has dedicated processors
    :param inventories: the records of PCPU there will be, by provider uuid; or by anything else for
        providers that aren't there yet

    Raises ReshapeFailed if there are fewer PCPU than pinned guests hold; then nothing has changed.
    """
    changes = [
        (consumer, provider, held(body, provider, VCPU))
        for consumer, body in sorted(allocations.items())
        for provider in sorted(providers)
        if held(body, provider, VCPU) and not held(body, provider, PCPU) and is_pinned(consumer)
    ]
    _refuse_what_does_not_fit(changes, list(inventories.values()))
    for provider in inventories:
        here = [change for change in changes if change[1] == provider]
        _refuse_what_does_not_fit(here, [inventories[provider]], f" on provider {provider}")
    for consumer, provider, amount in changes:
        # Give first: a record that is empty for a moment is removed, and then comes back as the
        # last.
        give(allocations[consumer], provider, PCPU, amount)
        take(allocations[consumer], provider, VCPU)


def _refuse_what_does_not_fit(
    changes: Collection[tuple[str, str, int]],
    records: Collection[Mapping[str, object]],
    where: str = "",
) -> None:
    """Raise ReshapeFailed if pinned guests hold more than the PCPU there will be.

    Nobody holds PCPU before: the class is new on this host.
    """
    needed = sum(amount for _, _, amount in changes)
    capacity = sum(Stock.of(record).capacity for record in records)
    if needed > capacity:
        consumers = ", ".join(sorted({consumer for consumer, _, _ in changes}))
        raise exceptions.ReshapeFailed(
            error=f"pinned consumers need {needed} {PCPU}{where}, and there are {capacity}: "
            f"{consumers}"
        )
