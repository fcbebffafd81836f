"""The tables: OpenStack Placement's at its head revision, and our own.

See rest-api.md 6.1, architecture.rst D2.

Deployed databases have exactly these columns, indexes and constraint names, so none of them may
change. Berth's own tables are at the end.
"""

import datetime

import sqlalchemy as sa

metadata = sa.MetaData()


def utcnow() -> datetime.datetime:
    """Return the current time as the database stores it: UTC without a time zone."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        sa.Column("created_at", sa.DateTime, default=utcnow),
        sa.Column("updated_at", sa.DateTime, onupdate=utcnow),
        *parts,
        mysql_engine="InnoDB",
    )


def _id(**options: object) -> sa.Column:
    return sa.Column("id", sa.Integer, primary_key=True, nullable=False, **options)  # type: ignore[arg-type]


def _integer(name: str) -> sa.Column:
    return sa.Column(name, sa.Integer, nullable=False)


resource_classes = _table(
    "resource_classes",
    _id(autoincrement=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_resource_classes0name"),
)

resource_providers = _table(
    "resource_providers",
    _id(),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("name", sa.Unicode(200)),
    sa.Column("generation", sa.Integer, default=0),
    sa.Column("root_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    sa.UniqueConstraint("name", name="uniq_resource_providers0name"),
    sa.Index("resource_providers_root_provider_id_idx", "root_provider_id"),
    sa.Index("resource_providers_parent_provider_id_idx", "parent_provider_id"),
)

inventories = _table(
    "inventories",
    _id(),
    _integer("resource_provider_id"),
    _integer("resource_class_id"),
    _integer("total"),
    _integer("reserved"),
    _integer("min_unit"),
    _integer("max_unit"),
    _integer("step_size"),
    sa.Column("allocation_ratio", sa.Float, nullable=False),
    sa.UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    sa.Index("inventories_resource_class_id_idx", "resource_class_id"),
)

allocations = _table(
    "allocations",
    _id(),
    _integer("resource_provider_id"),
    sa.Column("consumer_id", sa.String(36), nullable=False),
    _integer("resource_class_id"),
    _integer("used"),
    sa.Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    sa.Index("allocations_resource_class_id_idx", "resource_class_id"),
    sa.Index("allocations_consumer_id_idx", "consumer_id"),
)

consumers = _table(
    "consumers",
    _id(),
    sa.Column("uuid", sa.String(36), nullable=False),
    _integer("project_id"),
    _integer("user_id"),
    sa.Column("generation", sa.Integer, nullable=False, server_default=sa.text("0"), default=0),
    sa.Column(
        "consumer_type_id",
        sa.Integer,
        sa.ForeignKey("consumer_types.id", name="consumers_consumer_type_id_fkey"),
    ),
    sa.UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    sa.Index("consumers_project_id_uuid_idx", "project_id", "uuid"),
    sa.Index("consumers_project_id_user_id_uuid_idx", "project_id", "user_id", "uuid"),
    sa.Index("consumers_consumer_type_id_idx", "consumer_type_id"),
)

consumer_types = _table(
    "consumer_types",
    _id(),
    sa.Column("name", sa.Unicode(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_consumer_types0name"),
)

projects = _table(
    "projects",
    _id(),
    sa.Column("external_id", sa.String(255), nullable=False),
    sa.UniqueConstraint("external_id", name="uniq_projects0external_id"),
)

users = _table(
    "users",
    _id(),
    sa.Column("external_id", sa.String(255), nullable=False),
    sa.UniqueConstraint("external_id", name="uniq_users0external_id"),
)

placement_aggregates = _table(
    "placement_aggregates",
    _id(),
    sa.Column("uuid", sa.String(36)),
    sa.UniqueConstraint("uuid", name="uniq_placement_aggregates0uuid"),
)

resource_provider_aggregates = _table(
    "resource_provider_aggregates",
    sa.Column("resource_provider_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("aggregate_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Index("resource_provider_aggregates_aggregate_id_idx", "aggregate_id"),
)

traits = _table(
    "traits",
    _id(),
    sa.Column("name", sa.Unicode(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_traits0name"),
)

resource_provider_traits = _table(
    "resource_provider_traits",
    sa.Column(
        "trait_id",
        sa.Integer,
        sa.ForeignKey("traits.id"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column(
        "resource_provider_id",
        sa.Integer,
        sa.ForeignKey("resource_providers.id"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Index(
        "resource_provider_traits_resource_provider_trait_idx",
        "resource_provider_id",
        "trait_id",
    ),
)

#: the tables that OpenStack Placement knows
REFERENCE_TABLES = tuple(metadata.tables.values())
#: its revisions from the oldest to the head, and the table where its alembic stores the current one
REFERENCE_REVISIONS = (
    "b4ed3a175331",
    "611cd6dffd7b",
    "b5c396305c25",
    "422ece571366",
    "a082b8bb98d0",
)
REFERENCE_HEAD = REFERENCE_REVISIONS[-1]
reference_version = sa.Table(
    "alembic_version",
    metadata,
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _big(name: str, **options: object) -> sa.Column:
    return sa.Column(name, sa.BigInteger, nullable=False, **options)  # type: ignore[arg-type]


#: one row for each provider that a write changed, appended by that write (architecture.rst D4).
#: Workers of an earlier version don't set the columns that have a default
provider_changes = sa.Table(
    "berth_provider_changes",
    metadata,
    sa.Column("id", _BIG, primary_key=True, autoincrement=True),
    sa.Column("created_at", sa.DateTime, nullable=False, default=utcnow),
    sa.Column("resource_provider_id", sa.Integer, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    _big("lane", server_default=sa.text("0")),
    _big("position", server_default=sa.text("0")),
    _big("before", server_default=sa.text("0")),
    # of a provider that was deleted: nothing else says whose id it was
    sa.Column("resource_provider_uuid", sa.String(36), nullable=True),
    sa.Index("berth_provider_changes_lane_position_idx", "lane", "position"),
    sqlite_autoincrement=True,
    mysql_engine="InnoDB",
)

#: the last position of each lane of the change feed; see `placement.storage.feed.feed_lanes`
change_lanes = sa.Table(
    "berth_change_lanes",
    metadata,
    _big("home", primary_key=True, autoincrement=False),
    _big("id", primary_key=True, autoincrement=False),
    _big("position"),
    _big("mark"),
    _big("before"),
    mysql_engine="InnoDB",
)
