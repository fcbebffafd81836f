"""Which lists a statement has."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import psycopg

from placement.storage.driver.list_parameters import among, lists_in
from placement.storage.driver.postgresql_lists import List

THINGS = sa.table("things", sa.column("n", sa.Integer), sa.column("name", sa.String))
SOME = sa.select(THINGS.c.n).where(among(THINGS.c.n, "numbers"))


def test_a_list_counts_once():
    both = SOME.where(among(THINGS.c.name, "names")).union(SOME)
    assert sorted(lists_in(both)) == ["names", "numbers"]


def test_a_list_is_found_in_a_subquery_of_which_a_condition_names_a_column():
    some = SOME.cte("some")
    raised = sa.update(THINGS).where(THINGS.c.n == some.c.n).values(n=THINGS.c.n + 1)
    assert lists_in(raised) == ("numbers",)


def test_the_driver_of_postgresql_gets_a_list_as_it_is():
    dialect = psycopg.dialect()
    for text, kind in (("VARCHAR[]", sa.String), ("INTEGER[]", sa.Integer)):
        given = sa.bindparam("given", type_=List(kind))
        assert str(given.compile(dialect=dialect)) == f"%(given)s::{text}"
        assert given.type.dialect_impl(dialect).bind_processor(dialect) is None
