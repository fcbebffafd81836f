"""How a command reaches placement: over HTTP, or in-process on placement's database."""

import argparse
import contextlib
import http.client
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from keystoneauth1 import exceptions as ksa_exceptions
from keystoneauth1.adapter import Adapter
from oslo_config import cfg
from sqlalchemy.exc import ArgumentError, DBAPIError

from compute import config
from compute.cli.command_line import UnusableInput
from compute.config.credentials import is_described
from compute.config.placement import GROUP, build_adapter
from compute.records.cell_database.reading import read_only_uri
from compute.report.wire.failures import (
    UNREACHABLE,
    Refusal,
    described_user,
    explained,
    has_no_connection,
    why,
)

if TYPE_CHECKING:
    from placement.direct import PlacementDirect

HTTP, DATABASE = "http", "database"
#: the uuid of no provider
NOBODY = "00000000-0000-0000-0000-000000000000"


class PlacementUnusable(Exception):
    """Placement, or its database, can't be used; the text says why and holds no secret."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add `--http` and `--database`."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--http",
        dest="way",
        action="store_const",
        const=HTTP,
        help="use the running service that group [placement] of the configuration describes",
    )
    ways.add_argument(
        "--database",
        dest="way",
        action="store_const",
        const=DATABASE,
        help="work on the placement database of [placement_database]connection, without a service",
    )


@contextlib.contextmanager
def opened(
    conf: cfg.ConfigOpts,
    config_arguments: Sequence[str],
    way: str | None,
    read_only: bool = False,
) -> Iterator[Adapter]:
    """Give an adapter for placement, for as long as the context lasts.

    :param way: HTTP, DATABASE, or None: HTTP if group [placement] says how to reach the service
    :param read_only: the command sends only GETs; nothing is written then, neither by the start of
        the in-process service nor by the database itself

    Raises UnusableInput if the configuration doesn't say how to reach placement, and
    PlacementUnusable if placement can't be reached or its database can't be used.
    """
    if (way or usual_way(conf)) == HTTP:
        yield _over_http(conf)
        return
    of_service = _reads_service_s_file(conf)
    url = _database_url(conf, of_service, way)
    with contextlib.ExitStack() as stack:
        if read_only and url.get_backend_name() == "sqlite":
            url = stack.enter_context(_copy_of(url))
            read_only = False
        direct = _configured(url, () if of_service else config_arguments, read_only)
        adapter = stack.enter_context(direct)
        _check(adapter)
        yield adapter


def usual_way(conf: cfg.ConfigOpts) -> str:
    """Return HTTP if group [placement] says how to reach the service, else DATABASE."""
    return HTTP if is_described(conf, GROUP) else DATABASE


def _over_http(conf: cfg.ConfigOpts) -> Adapter:
    if usual_way(conf) != HTTP:
        raise UnusableInput(
            "Group [placement] of the configuration doesn't say how to reach placement: set "
            f"auth_type and what it needs, or endpoint_override.{config.where_searched(conf)}"
        )
    try:
        adapter = build_adapter(conf)
        unusable = _first_failure(adapter)
    except ksa_exceptions.AuthPluginException as error:
        raise UnusableInput(f"Group [placement]: {error}") from error
    if unusable is not None:
        told = explained(unusable, described_user(conf))
        raise PlacementUnusable(f"The placement service can't be used: {told}")
    return adapter


def _reads_service_s_file(conf: cfg.ConfigOpts) -> bool:
    """Whether only the placement.conf that OS_PLACEMENT_CONFIG_DIR leads to names the database."""
    return not conf.placement_database.connection and bool(os.environ.get(config.VARIABLE))


def _database_url(conf: cfg.ConfigOpts, of_service: bool, way: str | None) -> sa.URL:
    connection = _connection_of_service() if of_service else conf.placement_database.connection
    if not connection:
        if way is None and usual_way(conf) != HTTP:
            raise UnusableInput(
                "The configuration doesn't say how to reach placement: set auth_type and what it "
                "needs in group [placement]. Without a service, a command works on the database of "
                f"[placement_database]connection.{config.where_searched(conf)}"
            )
        service = ", or say --http to use the running service" if usual_way(conf) == HTTP else ""
        raise UnusableInput(
            "[placement_database]connection isn't set: give placement's configuration with "
            f"--config-file, too, or set the option{service}.{config.where_searched(conf)}"
        )
    try:
        url = sa.make_url(connection)
    except (ArgumentError, ValueError):
        # Not chained: the error may quote the URL, and with it the password.
        raise UnusableInput("[placement_database]connection is not a database URL.") from None
    if url.get_backend_name() == "sqlite":
        if not url.database or ":memory:" in url.database or url.query.get("mode") == "memory":
            raise UnusableInput(
                "[placement_database]connection is a database in memory, which only the process "
                "that made it can see: name the one that the placement service uses."
            )
        path = Path(url.database)
        if not path.is_file():
            # SQLite would make an empty one.
            raise PlacementUnusable(f"There is no placement database {path}.")
    return url


def _connection_of_service() -> str | None:
    from placement.direct import connection_of_service

    try:
        return connection_of_service()
    except (cfg.Error, ValueError, OSError) as error:
        raise UnusableInput(error) from error


def _configured(url: sa.URL, config_arguments: Sequence[str], read_only: bool) -> "PlacementDirect":
    # A command reports at once a database that a service would wait for.
    overrides: dict[tuple[str | None, str], Any] = {
        ("placement_database", "connection"): url.render_as_string(hide_password=False),
        ("placement_database", "max_retries"): 0,
    }
    if read_only:
        overrides["placement_database", "sync_on_startup"] = False
    argv = [argument for argument in config_arguments if argument.startswith("--config-")]
    # imported here: with --http, the service and all it needs would double the time of the start
    from placement.direct import PlacementDirect

    try:
        return PlacementDirect.configured(
            argv,
            overrides=overrides,
            store_standard_names=not read_only,
        )
    except cfg.Error as error:
        raise UnusableInput(error) from error


def why_unusable(adapter: Adapter) -> str | None:
    """Return why placement answers no request at all; None if it answers.

    This distinguishes the failure of one request from one that every request meets.
    """
    failure = _first_failure(adapter)
    if isinstance(failure, Refusal):
        # the message about the request that failed has the rest of the answer
        return f"{failure.status} {http.client.responses.get(failure.status, '')}".rstrip()
    if failure is None:
        return None
    return f"{why(failure)}. {UNREACHABLE}" if has_no_connection(failure) else why(failure)


def _first_failure(adapter: Adapter) -> Exception | None:
    """Return what keeps placement from answering a request; None if it answers."""
    try:
        answer = adapter.get(f"/resource_providers/{NOBODY}")
    except ksa_exceptions.ClientException as error:
        return error
    refused = Refusal(answer)
    # 404 is the usual answer: there is no such provider.
    there = answer.status_code in (200, 404) and not refused.is_of_no_path
    return None if there else refused


def _check(adapter: Adapter) -> None:
    """Have the service read its tables. Raises PlacementUnusable if it can't."""
    try:
        answer = adapter.get(f"/resource_providers/{NOBODY}")
    except Exception as error:
        # Many kinds of exceptions keep the service from starting.
        raise PlacementUnusable(
            f"The placement database can't be used: {_reason(error)}"
        ) from error
    if answer.status_code >= 500:
        raise PlacementUnusable(
            "The placement database can't be used. Is its schema up to date? See "
            f"placement-manage db sync. ({answer.status_code}: {answer.text})"
        )


def _reason(error: BaseException) -> str:
    """Return the message of the database, without the SQL statement."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, DBAPIError):
            return f"{cause.orig}. Is it there, and its schema synced (placement-manage db sync)?"
        cause = cause.__cause__
    return str(error)


@contextlib.contextmanager
def _copy_of(url: sa.URL) -> Iterator[sa.URL]:
    """Copy a SQLite database; leave the original and the files beside it untouched."""
    source = Path(url.database or "").resolve()
    with tempfile.TemporaryDirectory(prefix="nova-manage-") as folder:
        copy = Path(folder) / source.name
        try:
            with (
                contextlib.closing(sqlite3.connect(_reading(source), uri=True)) as original,
                contextlib.closing(sqlite3.connect(copy)) as target,
            ):
                original.backup(target)
        except sqlite3.Error as error:
            raise PlacementUnusable(f"The placement database can't be read: {error}") from error
        yield url.set(database=str(copy))


def _reading(path: Path) -> str:
    try:
        return read_only_uri(path)
    except OSError as error:
        raise PlacementUnusable(
            f"The placement database {path} can't be read: {error.strerror}"
        ) from error
