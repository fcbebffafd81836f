"""The tables of the cell database.

Fields that queries filter by have a column. The rest of a record is one JSON object: a record can
gain a field without a migration of the file on each compute host.
"""

import sqlalchemy as sa

metadata = sa.MetaData()

compute_nodes = sa.Table(
    "compute_nodes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False, unique=True),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("hypervisor_hostname", sa.String(255), nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False, default=False),
    sa.Column("updated_at", sa.Float, nullable=False),
    sa.Column("details", sa.JSON, nullable=False),
)
# A name is free again once its record is deleted.
sa.Index(
    "uniq_compute_nodes_host_node",
    compute_nodes.c.host,
    compute_nodes.c.hypervisor_hostname,
    unique=True,
    sqlite_where=compute_nodes.c.deleted.is_(False),
)

services = sa.Table(
    "services",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("host", sa.String(255), nullable=False, unique=True),
    sa.Column("disabled", sa.Boolean, nullable=False, default=False),
    sa.Column("disabled_reason", sa.Text),
)

instances = sa.Table(
    "instances",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False, unique=True),
    sa.Column("host", sa.String(255)),
    sa.Column("node", sa.String(255)),
    sa.Column("deleted", sa.Boolean, nullable=False, default=False),
    sa.Column("updated_at", sa.Float),
    sa.Column("details", sa.JSON, nullable=False),
    sa.Index("instances_host_node", "host", "node"),
)

migrations = sa.Table(
    "migrations",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False, unique=True),
    sa.Column("instance_uuid", sa.String(36), nullable=False),
    sa.Column("status", sa.String(32), nullable=False),
    sa.Column("source_compute", sa.String(255)),
    sa.Column("source_node", sa.String(255)),
    sa.Column("dest_compute", sa.String(255)),
    sa.Column("dest_node", sa.String(255)),
    sa.Column("updated_at", sa.Float),
    sa.Column("details", sa.JSON, nullable=False),
    sa.Index("migrations_source", "source_compute", "source_node"),
    sa.Index("migrations_dest", "dest_compute", "dest_node"),
    sa.Index("migrations_instance", "instance_uuid"),
)

aggregates = sa.Table(
    "aggregates",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False, unique=True),
    sa.Column("details", sa.JSON, nullable=False),
)

host_mappings = sa.Table(
    "host_mappings",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("host", sa.String(255), nullable=False, unique=True),
    sa.Column("details", sa.JSON, nullable=False),
)

own_allocations = sa.Table(
    "own_allocations",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("consumer_uuid", sa.String(36), nullable=False),
    sa.Column("node_uuid", sa.String(36), nullable=False),
    sa.UniqueConstraint("node_uuid", "consumer_uuid"),
)
