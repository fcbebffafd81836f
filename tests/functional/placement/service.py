"""A placement service with its own database, called without a socket."""

import contextlib

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import NullPool
from werkzeug.test import Client, EnvironBuilder

from placement import app, config
from placement.storage.database.engine import DatabaseSettings
from placement.storage.driver.dialects import prepare, read_url
from tests.service_settings import UNTIMED


class Service:
    """The application with its `database`, whose URL is `url`.

    `get`, `put`, `post` and `delete` send a request as an administrator who may also reshape, and
    return the response. It is closed with the test or fixture that makes it (`running_services`).

    :param counting: where it counts what it does; by default, it doesn't
    :param features: what it offers beyond OpenStack Placement
    """

    def __init__(self, url, counting=None, features=app.EXTENSIONS, **options):
        self.url = url
        overrides = {
            ("placement_database", "connection"): url,
            ("placement_database", "sync_on_startup"): True,
            ("placement_database", "sqlite_synchronous"): False,
            ("api", "auth_strategy"): "noauth2",
        } | UNTIMED
        overrides |= {tuple(name.split("__")): value for name, value in options.items()}
        conf = config.load(files=[], environ=False, overrides=overrides)
        running = app.start(conf, counting=counting, features=features)
        self.running = running
        self.app, self.database = running.application, running.database
        self.client = Client(self.app)

    def close(self):
        """End it, as at the end of a process; a later request begins again."""
        self.running.close()

    def unjudged(self):
        """Return the service; a 500, 503 or 507 no longer fails the test."""
        self.client = Client(self.app.application)
        return self

    def request(self, method, path, body=None, version="1.39", headers_more=None, **more):
        """Send a request and return the response; `more` are options of werkzeug's client.

        :param headers_more: further headers
        """
        headers = {
            "x-auth-token": "admin",
            "x-roles": "admin,service",
            "openstack-api-version": f"placement {version}",
        } | (headers_more or {})
        # the query goes to the service as it is: werkzeug would repair some
        path, _, query = path.partition("?")
        more.setdefault("query_string", query)
        return self.client.open(path, method=method, json=body, headers=headers, **more)

    def client_environ(self, path, headers):
        """Return the WSGI environment of a GET by an administrator."""
        given = {"x-auth-token": "admin", "x-roles": "admin"} | headers
        return EnvironBuilder(path, headers=given).get_environ()

    def write(self, method, path, body=None, version="1.39"):
        """Send a request that has to succeed, and return the body of the response."""
        response = self.request(method, path, body, version)
        assert response.status_code < 300, (method, path, response.status_code, response.text)
        return response.json

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def put(self, path, body=None, **options):
        return self.request("PUT", path, body, **options)

    def post(self, path, body, **options):
        return self.request("POST", path, body, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def tables(self):
        """Return all rows of all tables, by table."""
        with self._connection() as connection:
            names = sa.inspect(connection).get_table_names()
            quote = connection.dialect.identifier_preparer.quote
            return {
                name: sorted(
                    map(tuple, connection.execute(sa.text(f"SELECT * FROM {quote(name)}"))),
                    key=repr,
                )
                for name in names
            }

    def ask(self, question, **values):
        """Return the rows of a query, whose parameters are written `:name`."""
        with self._connection() as connection:
            return [tuple(row) for row in connection.execute(sa.text(question), values)]

    @contextlib.contextmanager
    def _connection(self):
        url = read_url(self.url)
        engine = sa.create_engine(prepare(url, DatabaseSettings(self.url))[0], poolclass=NullPool)
        with engine.connect() as connection:
            yield connection

    def sizes(self):
        """Return the number of rows of each table."""
        return {name: len(rows) for name, rows in self.tables().items()}


COMMIT = "COMMIT"


@contextlib.contextmanager
def statements(database):
    """Collect the SQL statements of this block, with COMMIT for the end of each transaction.

    :param database: what sends them: those of other services of the process are left out
    """
    found = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            found.append(statement)

    def commit(connection):
        found.append(COMMIT)

    event.listen(database.engine, "before_cursor_execute", note)
    event.listen(database.engine, "commit", commit)
    try:
        yield found
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
        event.remove(database.engine, "commit", commit)
