"""The REST API's acceptance tests: run every file of gabbits/ on a service with an empty database.

A file is one pytest test, because its requests build on each other. By default the files run
against our application in this process. With `BERTH_GABBI_REFERENCE=/path/to/python`, an
interpreter that has openstack-placement and gunicorn, they run against the reference. This shows
that the files describe the reference. The files `deviation-*`, where Berth differs on purpose, are
then left out.
"""

import os
import unittest
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from gabbi import handlers, suitemaker

from tests.gabbi import assertions, fixtures, services

pytestmark = pytest.mark.spread_over_databases("sqlite", "postgresql", "mariadb")

FILES = sorted(Path(__file__).with_name("gabbits").glob("*.yaml"))
REFERENCE = os.environ.get("BERTH_GABBI_REFERENCE")
#: files that treat `a` and `A` as different. MariaDB's default collation doesn't, so these files
#: need another one; tests/databases/test_spelling.py covers the default
ABOUT_SPELLING = {
    "aggregates-1.19",
    "allocations-delete",
    "allocations-post-1.13",
    "allocations-show",
    "provider-list",
    "provider-list-in-tree",
    "provider-list-member-of",
    "provider-show",
}
RESPONSE_HANDLERS = [
    assertions.Document,
    assertions.Names,
    assertions.Refusal,
    *handlers.RESPONSE_HANDLERS,
]

if REFERENCE:
    #: SQLite works whichever database drivers the reference's environment has
    database_kind = pytest.fixture(params=["sqlite"])(lambda request: request.param)
    FILES = [file for file in FILES if not file.name.startswith(("deviation-", "extension-"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_response_is_as_the_file_says(
    file: Path, tmp_path: Path, new_database: Callable[..., str]
) -> None:
    document = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
    # all requests are plain HTTP; loading certificates for each one would take most of the time
    document.setdefault("defaults", {})["cert_validate"] = False
    database = new_database(case_sensitive=file.stem in ABOUT_SPELLING)
    options = services.options_of(tmp_path, document, database)
    mount = document.get("mount", "")
    running = (
        services.reference(REFERENCE, tmp_path, options, mount)
        if REFERENCE
        else services.in_process(options, mount)
    )

    judging = [assertions.Judged(mount)] if REFERENCE else []

    result = Failures()
    with running as service:
        suitemaker.test_suite_from_dict(
            unittest.TestLoader(),
            file.stem,
            document,
            str(file.parent),
            service.host,
            service.port,
            fixtures,
            service.intercept,
            handlers=[handler() for handler in RESPONSE_HANDLERS] + judging,
        ).run(result)

    if result.broken:
        count = f"{len(result.broken)} of {result.testsRun} failed"
        pytest.fail("\n\n".join([count, *result.broken]), pytrace=False)
    assert result.testsRun == len(document["tests"])
    assert not result.skipped


class Failures(unittest.TestResult):
    """Collects failures in the order of the file, without gabbi's stack traces."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: list[str] = []

    def addFailure(self, test: unittest.TestCase, err: tuple) -> None:  # noqa: N802
        """Record a response that differs from the file."""
        super().addFailure(test, err)
        self.broken.append(f"{test.shortDescription()}\n{err[1]}")

    def addError(self, test: unittest.TestCase, err: tuple) -> None:  # noqa: N802
        """Record a request that failed, or a response that can't be read."""
        super().addError(test, err)
        self.broken.append(f"{test.shortDescription()}\n{err[0].__name__}: {err[1]}")
