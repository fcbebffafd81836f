"""A cloud of many hosts with ten guests each, written as rows: no requests, no service."""

from uuid import NAMESPACE_OID, uuid5

import sqlalchemy as sa

from placement.storage import tables

GUESTS = 10
SHARE = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 20}
STOCK = {
    "VCPU": {"total": 10, "allocation_ratio": 4.0},
    "MEMORY_MB": {"total": 8192, "reserved": 512},
    "DISK_GB": {"total": 1028},
}


def uuid_of(*what):
    """Return the uuid of a host, or of a guest of a host."""
    return str(uuid5(NAMESPACE_OID, " ".join(map(str, what))))


def write_hosts(url, count):
    """Write so many hosts, called host1, host2 and so on, each with its guests."""
    engine = sa.create_engine(url.replace("mysql:", "mysql+pymysql:"))
    try:
        with engine.begin() as connection:
            _write(connection, range(1, count + 1))
    finally:
        engine.dispose()


def _write(connection, hosts):
    def insert(table, rows):
        connection.execute(sa.insert(table), list(rows))

    def ids(table, column):
        return dict(connection.execute(sa.select(column, table.c.id)).all())

    classes = ids(tables.resource_classes, tables.resource_classes.c.name)
    providers = tables.resource_providers
    insert(providers, ({"uuid": uuid_of(n), "name": f"host{n}", "generation": 1} for n in hosts))
    connection.execute(sa.update(providers).values(root_provider_id=providers.c.id))
    known = ids(providers, providers.c.uuid)
    # the agent has given it: nova's scheduler asks for it
    (owner_nova,) = connection.execute(
        sa.select(tables.traits.c.id).where(tables.traits.c.name == "OWNER_NOVA")
    ).one()
    owned = ({"trait_id": owner_nova, "resource_provider_id": key} for key in known.values())
    insert(tables.resource_provider_traits, owned)
    plain = {"reserved": 0, "min_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
    insert(
        tables.inventories,
        (
            {
                "resource_provider_id": known[uuid_of(n)],
                "resource_class_id": classes[name],
                "max_unit": record["total"],
                **plain,
                **record,
            }
            for n in hosts
            for name, record in STOCK.items()
        ),
    )
    insert(tables.projects, [{"external_id": "project"}])
    insert(tables.users, [{"external_id": "user"}])
    insert(tables.consumer_types, [{"name": "INSTANCE"}])
    (kind,) = ids(tables.consumer_types, tables.consumer_types.c.name).values()
    (project,) = ids(tables.projects, tables.projects.c.external_id).values()
    (user,) = ids(tables.users, tables.users.c.external_id).values()
    owner = {"project_id": project, "user_id": user, "consumer_type_id": kind, "generation": 1}
    places = [(n, guest) for n in hosts for guest in range(GUESTS)]
    insert(tables.consumers, ({"uuid": uuid_of(*place), **owner} for place in places))
    insert(
        tables.allocations,
        (
            {
                "resource_provider_id": known[uuid_of(place[0])],
                "consumer_id": uuid_of(*place),
                "resource_class_id": classes[name],
                "used": amount,
            }
            for place in places
            for name, amount in SHARE.items()
        ),
    )
