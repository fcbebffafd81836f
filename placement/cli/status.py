"""`placement-status upgrade check`: check database and policy files (rest-api.md 7.4)."""

import datetime
import sys
from collections.abc import Sequence

import sqlalchemy as sa
from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from placement import config, installation
from placement.cli.failure import told
from placement.cli.version import VERSION
from placement.config import sources
from placement.storage import generation_look, schema_upgrade
from placement.storage.engine import Database, DatabaseSettings
from placement.storage.tables import allocations, consumers, resource_providers, utcnow

PROGRAM = "placement-status"
#: the earliest version whose workers can serve, and be started, on the schema of this version
EARLIEST = "0.1.0"
_NO_TABLES = "The database has OpenStack Placement's tables, and not yet Berth's."
_SYNC = 'Run the "placement-manage db sync" command before you start this version.'
_EARLIER = f"Berth {EARLIEST} and later can serve before and after that, beside this version."
_REFERENCE = "OpenStack Placement can serve before and after that, too."
_ADVICE = 'Run the "placement-manage db online_data_migrations" command.'


class Checks(upgradecheck.UpgradeCommands):
    """The checks of `upgrade check`, in the order in which they are shown."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__()
        self.conf = conf
        found = _installation()
        if found is not None:
            title = "Installation"
            # the checks of the database can't be trusted, and may fail, if the files aren't ours
            others = () if found.code is upgradecheck.Code.FAILURE else type(self)._upgrade_checks
            checks = ((title, lambda _: found), *others)
            self._upgrade_checks = checks

    def _count(self, question: sa.Select) -> int:
        database = Database(DatabaseSettings.of(self.conf.placement_database))
        try:
            return database.read(lambda connection: connection.execute(question).scalar_one())
        finally:
            database.close()

    def check_root_provider_ids(self) -> upgradecheck.Result:
        """Check that every provider has a root."""
        orphans = sa.select(sa.func.count()).where(resource_providers.c.root_provider_id.is_(None))
        if not self._count(orphans.select_from(resource_providers)):
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.FAILURE,
            "There is at least one resource provider table record which misses its root "
            f"provider id. {_ADVICE}",
        )

    def check_incomplete_consumers(self) -> upgradecheck.Result:
        """Check that every consumer with allocations has a row."""
        incomplete = (
            sa.select(sa.func.count(allocations.c.consumer_id.distinct()))
            .select_from(
                allocations.outerjoin(consumers, allocations.c.consumer_id == consumers.c.uuid)
            )
            .where(consumers.c.id.is_(None))
        )
        count = self._count(incomplete)
        if not count:
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.WARNING,
            f"There are {count} incomplete consumers table records for existing allocations. "
            f"{_ADVICE}",
        )

    def check_policy_json(self) -> upgradecheck.Result:
        """Check that policy files are YAML."""
        return common_checks.check_policy_json(self, self.conf)

    def check_berth_schema(self) -> upgradecheck.Result:
        """Check what the schema needs for this version, and which other versions can use it."""
        database = Database(DatabaseSettings.of(self.conf.placement_database))
        try:
            code, found = _fitness(database)
        finally:
            database.close()
        return upgradecheck.Result(code, found)

    _upgrade_checks = (
        ("Missing Root Provider IDs", check_root_provider_ids),
        ("Incomplete Consumers", check_incomplete_consumers),
        ("Policy File JSON to YAML Migration", check_policy_json),
        ("Berth Schema", check_berth_schema),
    )


def _installation() -> upgradecheck.Result | None:
    """Return what is wrong with the environment that Berth is installed in, None if nothing is."""
    try:
        installation.refuse_shared_environment()
    except installation.SharedEnvironment as shared:
        return upgradecheck.Result(upgradecheck.Code.FAILURE, str(shared))
    missing = installation.missing_files()
    if missing:
        return upgradecheck.Result(
            upgradecheck.Code.FAILURE,
            f"{len(missing)} files of Berth are missing, {missing[0]} for example. "
            f"pip install --force-reinstall --no-deps {installation.OURS} brings them back.",
        )
    hidden = installation.hidden_reference()
    if hidden is not None:
        return upgradecheck.Result(
            upgradecheck.Code.WARNING,
            f"Berth hides OpenStack Placement {hidden.version} in {hidden.locate_file('')} from "
            "this Python: the other's commands import Berth's modules and fail. Install Berth in "
            "a virtual environment.",
        )
    return None


def _fitness(database: Database) -> tuple[upgradecheck.Code, str]:
    """Return whether the schema fits this version, and what the operator should know or do."""
    found = schema_upgrade.version(database)
    if found is None:
        wrong = database.read(schema_upgrade.differences)
        if wrong:
            text = "Berth can't take this database over: " + "; ".join(wrong) + "."
            return upgradecheck.Code.FAILURE, text
        return upgradecheck.Code.SUCCESS, f"{_NO_TABLES} {_SYNC} {_REFERENCE}"
    if schema_upgrade.is_behind(database):
        text = f"The schema is that of an earlier Berth (revision {found}). {_SYNC} {_EARLIER}"
        return upgradecheck.Code.WARNING, text
    return upgradecheck.Code.SUCCESS, " ".join(
        [
            f"Berth {VERSION} works with the schema (revision {found}).",
            f"Berth {EARLIEST} and later can serve on it, beside this version or instead of it.",
            "OpenStack Placement can, too.",
            *_writers(database),
        ]
    )


def _writers(database: Database) -> list[str]:
    """Return what is known of those who wrote in the last hour besides this version."""
    since = utcnow() - datetime.timedelta(hours=1)
    if not database.read(lambda c: generation_look.was_written_by_others(c, since)):
        return []
    return [
        "In the last hour another service, such as OpenStack Placement, wrote to the database: "
        "don't set [berth]beside_reference to never."
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks and return the worst result: 0 success, 1 warning, 2 failure, 255 error."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    checks = Checks(conf)
    upgradecheck.register_cli_options(conf, checks)
    arguments = list(sys.argv[1:] if argv is None else argv)
    with told(PROGRAM):
        sources.read(conf, arguments, PROGRAM, version=VERSION)
    return upgradecheck.run(conf)


if __name__ == "__main__":
    sys.exit(main())
