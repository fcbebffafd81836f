import pytest

from tests.functional.placement.service import Service


@pytest.fixture
def service(database_url):
    """Return a service with an empty database."""
    return Service(database_url)


@pytest.fixture
def messages(monkeypatch):
    """Return the texts of each message that PostgreSQL gets. The test fails if one is an error.

    It would stand in the server's log, with a statement of thousands of letters.
    """
    batches = pytest.importorskip("placement.storage.driver.postgresql_batches")
    sent, failed, send = [], [], batches.run

    def run(*given):
        sent.append([text for text, _ in given[1]])
        try:
            return send(*given)
        except batches.psycopg.Error as error:
            failed.append(error)
            raise

    monkeypatch.setattr(batches, "run", run)
    yield sent
    assert failed == []
