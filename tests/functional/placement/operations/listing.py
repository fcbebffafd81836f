"""Lists of providers by `ProviderLists`, compared with what the database says."""

import dataclasses
import json
import random

import sqlalchemy as sa

from placement.domain.provider_filter import ProviderFilter
from placement.errors import PlacementError
from placement.storage import provider_search, tables

#: of a class, as filters ask for them
AMOUNTS = (1, 2, 3, 4, 8, 9, 64, 2**31 - 1, 2**31)
#: a uuid and a name that nothing has
NO_UUID, NO_NAME = "f" * 8 + "-ffff-4fff-8fff-" + "f" * 12, "CUSTOM_NOBODY"


def written(provider):
    """Write what lists say of a provider."""
    return json.dumps(provider).encode()


def answer(question):
    """Return what a question returns, or the error that it raises."""
    try:
        return question()
    except PlacementError as refused:
        return type(refused), str(refused)


def by_database(database, wanted):
    """Return the providers that pass, and the time of the list."""
    found = provider_search.find(database, wanted)
    return [list(each) for each in found.providers], found.modified


def by_lists(lists, wanted, form="form"):
    """Return the providers that pass, and the time of the list."""
    found = lists.find(wanted, form, written)
    text = b"[" + b", ".join(found.texts) + b"]"
    return json.loads(text), found.modified


def assert_same(lists, database, filters):
    """Compare the answers of both, twice: the second time, all providers are remembered."""
    for wanted in filters:
        right = answer(lambda wanted=wanted: by_database(database, wanted))
        for _ in range(2):
            assert answer(lambda wanted=wanted: by_lists(lists, wanted)) == right, wanted


def filters(database, seed=0, combined=30, amounts=AMOUNTS):
    """Return filters about all that the tables have, and some that they haven't.

    :param combined: how many of them have several conditions
    :param amounts: how much of each class those ask for that have one condition
    """
    names = database.read(_names)
    uuids, traits, aggregates, classes = names
    chance = random.Random(seed)
    alone = [
        ProviderFilter(),
        *(ProviderFilter(in_tree=uuid) for uuid in uuids),
        *(ProviderFilter(uuid=uuid) for uuid in uuids),
        *(ProviderFilter(required=(frozenset([name]),)) for name in traits),
        *(ProviderFilter(forbidden=frozenset([name])) for name in traits),
        *(ProviderFilter(member_of=(frozenset([uuid]),)) for uuid in aggregates),
        *(ProviderFilter(not_member_of=frozenset([uuid])) for uuid in aggregates),
        *(ProviderFilter(resources={name: amount}) for name in classes for amount in amounts),
    ]
    return alone + [_combined(chance, *names) for _ in range(combined)]


def _combined(chance, uuids, traits, aggregates, classes):
    def some(values, most):
        return frozenset(chance.sample(values, min(len(values), chance.randint(1, most))))

    def sets(values):
        return tuple(some(values, 2) for _ in range(chance.choice([0, 0, 1, 1, 2])))

    return ProviderFilter(
        name=chance.choice([None] * 9 + ["host"]),
        uuid=chance.choice([None] * 5 + uuids),
        in_tree=chance.choice([None] * 5 + uuids),
        required=sets(traits),
        forbidden=some(traits, 2) if chance.random() < 0.3 else frozenset(),
        member_of=sets(aggregates),
        not_member_of=some(aggregates, 1) if chance.random() < 0.3 else frozenset(),
        resources={
            name: chance.choice([1, 1, 2, 4, 8])
            for name in (some(classes, 2) if chance.random() < 0.6 else ())
        },
    )


def _names(connection):
    """Return what the tables have to be asked for, and of each kind one that they don't have."""

    def column(question):
        return list(connection.execute(question).scalars())

    providers, traits, classes = tables.resource_providers, tables.traits, tables.resource_classes
    used = sa.select(tables.resource_provider_traits.c.trait_id)
    stocked = sa.select(tables.inventories.c.resource_class_id)
    return (
        [*column(sa.select(providers.c.uuid)), NO_UUID],
        [*column(sa.select(traits.c.name).where(traits.c.id.in_(used))), "HW_CPU_X86_AVX", NO_NAME],
        [*column(sa.select(tables.placement_aggregates.c.uuid)), NO_UUID],
        [*column(sa.select(classes.c.name).where(classes.c.id.in_(stocked))), "VGPU", NO_NAME],
    )


def by_part(database):
    """Return a filter for each part of filters: some of the providers pass it, and some don't.

    A new part needs its example here. Then tests hold each reader of filters to it.
    """
    uuids, traits, aggregates, _ = database.read(_names)
    examples = {
        "name": "host",
        "uuid": uuids[0],
        "uuids": frozenset(uuids[:2]),
        "in_tree": uuids[0],
        "required": (frozenset(traits[:1]),),
        "forbidden": frozenset(traits[:1]),
        "member_of": (frozenset(aggregates[:1]),),
        "not_member_of": frozenset(aggregates[:1]),
        "resources": {"VCPU": 1},
    }
    parts = [part.name for part in dataclasses.fields(ProviderFilter)]
    return {part: ProviderFilter(**{part: examples[part]}) for part in parts}
