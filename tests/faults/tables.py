"""Check the tables' consistency, and read a writer's rows."""

from tests.databases.questions import ask
from tests.faults.writers import SHARED, Part, Writer

_OVER_CAPACITY = """
    SELECT i.resource_provider_id, i.resource_class_id, i.total, sum(a.used)
    FROM inventories i JOIN allocations a ON a.resource_provider_id = i.resource_provider_id
        AND a.resource_class_id = i.resource_class_id
    GROUP BY i.resource_provider_id, i.resource_class_id, i.total, i.reserved, i.allocation_ratio
    HAVING sum(a.used) > (i.total - i.reserved) * i.allocation_ratio
"""
_IDLE_CONSUMERS = """
    SELECT uuid FROM consumers WHERE uuid NOT IN (SELECT consumer_id FROM allocations)
"""
_UNKNOWN_HOLDERS = """
    SELECT consumer_id FROM allocations WHERE consumer_id NOT IN (SELECT uuid FROM consumers)
"""
_OF_NOTHING = """
    SELECT a.id FROM allocations a LEFT JOIN inventories i
        ON i.resource_provider_id = a.resource_provider_id
        AND i.resource_class_id = a.resource_class_id
    WHERE i.id IS NULL
"""
_ROOTLESS = """
    SELECT p.id FROM resource_providers p LEFT JOIN resource_providers r
        ON r.id = p.root_provider_id
    WHERE r.id IS NULL
"""
RULES = {
    "over capacity": _OVER_CAPACITY,
    "consumers without allocations": _IDLE_CONSUMERS,
    "allocations without a consumer": _UNKNOWN_HOLDERS,
    "allocations without an inventory": _OF_NOTHING,
    "providers without root": _ROOTLESS,
}


def broken_rules(url: str) -> dict[str, list[tuple]]:
    """Return the rows that violate a rule, by rule. Only valid if capacities never shrink."""
    found = {name: ask(url, question) for name, question in RULES.items()}
    return {name: rows for name, rows in found.items() if rows}


def part_of(url: str, writer: Writer) -> Part:
    """Read a writer's rows. `shared_steps` comes from the writer, because no row has it.

    An unanswered request may have incremented the shared provider's generation. If it changed the
    writer's other rows, it did, and `shared_steps` comes from `writer.maybe`.
    """
    consumers, providers = set(writer.consumers), set(writer.providers)
    part = Part(
        generations={
            uuid: generation
            for uuid, generation in ask(url, "SELECT uuid, generation FROM consumers")
            if uuid in consumers
        },
        held={},
        stocks={uuid: {} for uuid in providers},
        provider_generations={
            uuid: generation
            for uuid, generation in ask(url, "SELECT uuid, generation FROM resource_providers")
            if uuid in providers
        },
        roots={uuid: root for uuid, root in ask(url, _ROOTS) if uuid in providers},
        shared_steps=writer.part.shared_steps,
    )
    for consumer, provider, name, used in ask(url, _ALLOCATIONS):
        if consumer in consumers:
            part.held.setdefault(consumer, {}).setdefault(provider, {})[name] = used
    for provider, name, total in ask(url, _INVENTORIES):
        if provider in providers:
            part.stocks[provider][name] = total
    if writer.maybe is not None and part != writer.part:
        part.shared_steps = writer.maybe.shared_steps
    return part


_ROOTS = """
    SELECT p.uuid, r.uuid FROM resource_providers p
    JOIN resource_providers r ON r.id = p.root_provider_id
"""
_ALLOCATIONS = """
    SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a
    JOIN resource_providers p ON p.id = a.resource_provider_id
    JOIN resource_classes c ON c.id = a.resource_class_id
"""
_INVENTORIES = """
    SELECT p.uuid, c.name, i.total FROM inventories i
    JOIN resource_providers p ON p.id = i.resource_provider_id
    JOIN resource_classes c ON c.id = i.resource_class_id
"""


def shared_generation(url: str) -> int:
    """Return the generation of the shared provider."""
    question = "SELECT generation FROM resource_providers WHERE uuid = :uuid"
    return ask(url, question, uuid=SHARED)[0][0]
