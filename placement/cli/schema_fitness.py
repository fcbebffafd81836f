"""Whether the schema fits this version, and which other versions can use it."""

import datetime

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from placement.installation import our_version
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.dialects import DatabaseUnusable
from placement.storage.feed import signs_of_others
from placement.storage.schema import schema_upgrade
from placement.storage.tables import utcnow

#: the earliest version whose workers can serve, and be started, on the schema of this version
EARLIEST = "0.1.0"
_NO_TABLES = "The database has OpenStack Placement's tables, and not yet Berth's."
_EMPTY = (
    "The database has no tables of placement. Is [placement_database]connection right? "
    'For a new cloud, run the "placement-manage db sync" command.'
)
_SYNC = 'Run the "placement-manage db sync" command before you start this version.'
_EARLIER = f"Berth {EARLIEST} and later can serve before and after that, beside this version."
_REFERENCE = "OpenStack Placement can serve before and after that, too."


def fitness(conf: cfg.ConfigOpts) -> tuple[upgradecheck.Code, str]:
    """Return whether the schema fits this version, and what the operator should know or do.

    Raises DatabaseUnusable for a database without tables.
    """
    database = Database(DatabaseSettings.of(conf.placement_database))
    try:
        return _fitness(database)
    finally:
        database.close()


def _fitness(database: Database) -> tuple[upgradecheck.Code, str]:
    """Return whether the schema fits this version, and what the operator should know or do."""
    found = schema_upgrade.version(database)
    if found is None:
        wrong = database.read(lambda connection: schema_upgrade.differences(connection.plain))
        if wrong:
            text = "Berth can't take this database over: " + "; ".join(wrong) + "."
            return upgradecheck.Code.FAILURE, text
        if not database.read(lambda connection: schema_upgrade.is_there(connection.plain)):
            raise DatabaseUnusable(_EMPTY)
        return upgradecheck.Code.SUCCESS, f"{_NO_TABLES} {_SYNC} {_REFERENCE}"
    if schema_upgrade.is_behind(found):
        text = f"The schema is that of an earlier Berth (revision {found}). {_SYNC} {_EARLIER}"
        return upgradecheck.Code.WARNING, text
    return upgradecheck.Code.SUCCESS, " ".join(
        [
            f"Berth {our_version()} works with the schema (revision {found}).",
            f"Berth {EARLIEST} and later can serve on it, beside this version or instead of it.",
            "OpenStack Placement can, too.",
            *_writers(database),
        ]
    )


def _writers(database: Database) -> list[str]:
    """Return what is known of those who wrote in the last hour besides this version."""
    since = utcnow() - datetime.timedelta(hours=1)
    if not database.read(lambda c: signs_of_others.have_written(c, since)):
        return []
    return [
        "In the last hour another service, such as OpenStack Placement, wrote to the database: "
        "don't set [berth]beside_reference to never."
    ]
