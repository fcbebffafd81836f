"""`placement-status upgrade check`: check database and policy files (rest-api.md 7.4)."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from placement import config, installation
from placement.cli.failure import say, told
from placement.config import misspelt, sources
from placement.installation import our_version

PROGRAM = "placement-status"
#: exit code if the checks can't be made, as that of the reference (rest-api.md 7.4)
UNCHECKED = 255
_SCHEMA = "Berth Schema"
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

    def check(self) -> upgradecheck.Code:
        """Run the checks; the one of the schema alone if the others can't be trusted.

        Exits with one line if the database can't be asked.
        """
        schema = (_SCHEMA, Checks.check_berth_schema)
        with told(PROGRAM, UNCHECKED):
            if schema in self._upgrade_checks:
                found = self.check_berth_schema()
                known = ((_SCHEMA, lambda _: found),)
                others = tuple(each for each in self._upgrade_checks if each != schema)
                failed = found.code is upgradecheck.Code.FAILURE
                self._upgrade_checks = known if failed else (*others, *known)
            return super().check()

    def check_root_provider_ids(self) -> upgradecheck.Result:
        """Check that every provider has a root."""
        # imported here, and below, because --help and --version need no database
        from placement.cli import old_rows

        if not old_rows.count_providers_without_root(self.conf):
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.FAILURE,
            "There is at least one resource provider table record which misses its root "
            f"provider id. {_ADVICE}",
        )

    def check_incomplete_consumers(self) -> upgradecheck.Result:
        """Check that every consumer with allocations has a row."""
        from placement.cli import old_rows

        count = old_rows.count_consumers_without_row(self.conf)
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
        from placement.cli import schema_fitness

        code, found = schema_fitness.fitness(self.conf)
        return upgradecheck.Result(code, found)

    _upgrade_checks: tuple[tuple[str, Callable[[Any], upgradecheck.Result]], ...] = (
        ("Missing Root Provider IDs", check_root_provider_ids),
        ("Incomplete Consumers", check_incomplete_consumers),
        ("Policy File JSON to YAML Migration", check_policy_json),
        (_SCHEMA, check_berth_schema),
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks and return the worst result: 0 success, 1 warning, 2 failure, 255 error."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    checks = Checks(conf)
    upgradecheck.register_cli_options(conf, checks)
    arguments = list(sys.argv[1:] if argv is None else argv)
    with told(PROGRAM):
        sources.read(conf, arguments, PROGRAM, version=our_version())
        for sentence in misspelt.told(conf):
            say(PROGRAM, sentence, as_json=False)
    return upgradecheck.run(conf)


if __name__ == "__main__":
    sys.exit(main())
