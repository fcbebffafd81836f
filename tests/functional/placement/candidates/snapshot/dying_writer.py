"""A process that dies in the middle of a write; it imports little, so that it starts quickly."""


def claim_and_die(url, key):
    """Be a process that is killed between its insert and its commit."""
    import os

    from placement.storage.database.engine import Database, DatabaseSettings
    from placement.storage.feed import change_feed
    from placement.storage.feed.change_feed import ChangeKind
    from placement.storage.tables import allocations

    def write(connection):
        connection.execute(
            allocations.insert(),
            {
                "resource_provider_id": 1,
                "resource_class_id": 0,
                "consumer_id": key,
                "used": 1,
            },
        )
        change_feed.record(connection, [1], ChangeKind.USAGE)
        os._exit(9)

    Database(DatabaseSettings(url)).write(write)
