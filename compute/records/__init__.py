"""What compute services remember: nodes, instances, migrations, services, aggregates.

Each kind of record is a dataclass in a module of its name. `cell_database` keeps them, with nova's
queries. `node_identity` is the file with the uuid of this host's node.
"""
