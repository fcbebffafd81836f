"""Which lists a statement has."""

import sqlalchemy as sa

from placement.storage.driver.list_parameters import among, lists_in

THINGS = sa.table("things", sa.column("n", sa.Integer), sa.column("name", sa.String))
SOME = sa.select(THINGS.c.n).where(among(THINGS.c.n, "numbers"))


def test_a_list_counts_once():
    both = SOME.where(among(THINGS.c.name, "names")).union(SOME)
    assert sorted(lists_in(both)) == ["names", "numbers"]


def test_a_list_is_found_in_a_subquery_of_which_a_condition_names_a_column():
    some = SOME.cte("some")
    raised = sa.update(THINGS).where(THINGS.c.n == some.c.n).values(n=THINGS.c.n + 1)
    assert lists_in(raised) == ("numbers",)
