"""What one provider has is found by keys, however large the tables are."""

import importlib
import pkgutil

import pytest
import sqlalchemy as sa

from placement import storage
from placement.storage.of_provider import OfProvider
from placement.storage.tables import metadata


def questions() -> dict[str, OfProvider]:
    """Return what storage asks of one provider, by module and name."""
    return {
        f"{module.name}.{name}": value
        for module in pkgutil.iter_modules(storage.__path__)
        for name, value in vars(importlib.import_module(f"placement.storage.{module.name}")).items()
        if isinstance(value, OfProvider)
    }


QUESTIONS = questions()


@pytest.mark.parametrize("name", QUESTIONS)
def test_sqlite_scans_no_table(name: str) -> None:
    engine = sa.create_engine("sqlite://")
    metadata.create_all(engine)
    asked = QUESTIONS[name].statement.params(uuid="")
    statement = asked.compile(engine, compile_kwargs={"literal_binds": True})
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}").all()
    steps = [step for *_, step in plan]
    assert any("SEARCH" in step for step in steps)
    assert [step for step in steps if "SCAN" in step or "MATERIALIZE" in step] == []


def test_there_are_such_questions() -> None:
    assert len(QUESTIONS) >= 5
