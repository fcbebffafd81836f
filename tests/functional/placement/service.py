"""A placement service on a SQLite file of its own, spoken to without a socket."""

import contextlib
import sqlite3

import sqlalchemy as sa
from sqlalchemy import event
from werkzeug.test import Client

from placement import config
from placement.app import create_app


class Service:
    """The application with its database file.

    `get`, `put`, `post` and `delete` send a request of an administrator that may also reshape and
    give the response.
    """

    def __init__(self, folder, **options):
        self.path = folder / "placement.db"
        overrides = {
            ("placement_database", "connection"): f"sqlite:///{self.path}",
            ("placement_database", "sync_on_startup"): True,
            ("placement_database", "sqlite_synchronous"): False,
            ("api", "auth_strategy"): "noauth2",
        }
        overrides |= {tuple(name.split("__")): value for name, value in options.items()}
        self.app = create_app(config.load(files=[], environ=False, overrides=overrides))
        self.client = Client(self.app)

    def request(self, method, path, body=None, version="1.39"):
        headers = {
            "x-auth-token": "admin",
            "x-roles": "admin,service",
            "openstack-api-version": f"placement {version}",
        }
        return self.client.open(path, method=method, json=body, headers=headers)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def put(self, path, body=None, **options):
        return self.request("PUT", path, body, **options)

    def post(self, path, body, **options):
        return self.request("POST", path, body, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def tables(self):
        """Every row of every table, by table."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {
                name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr)
                for (name,) in names.fetchall()
            }

    def ask(self, question, *values):
        """The rows that answer a question in SQL."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(question, values).fetchall()

    def sizes(self):
        """How many rows each table has."""
        return {name: len(rows) for name, rows in self.tables().items()}


COMMIT = "COMMIT"


@contextlib.contextmanager
def statements():
    """Collect the SQL statements that are run meanwhile, and COMMIT for each end of a write."""
    found = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if not statement.startswith("BEGIN"):
            found.append(statement)

    def commit(connection):
        if connection.get_execution_options().get("berth_mode") == "write":
            found.append(COMMIT)

    event.listen(sa.Engine, "before_cursor_execute", note)
    event.listen(sa.Engine, "commit", commit)
    try:
        yield found
    finally:
        event.remove(sa.Engine, "before_cursor_execute", note)
        event.remove(sa.Engine, "commit", commit)
