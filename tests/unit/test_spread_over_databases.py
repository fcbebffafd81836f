"""Tests that are spread over the databases run, each on one of the kinds that it has."""

from types import SimpleNamespace

import pytest

from tests.databases import fixtures
from tests.databases.fixtures import KINDS, chosen_of

MARK = pytest.mark.spread_over_databases


@pytest.fixture(autouse=True)
def _all_chosen(monkeypatch):
    monkeypatch.setattr(fixtures, "CHOSEN", list(KINDS))


def items(number, kinds, mark=MARK):
    """Return what pytest collects of a test that has these kinds."""
    return [
        SimpleNamespace(
            nodeid=f"test_{number}[{kind}]",
            callspec=SimpleNamespace(params={"database_kind": kind}),
            get_closest_marker={"spread_over_databases": mark and mark.mark}.get,
        )
        for kind in kinds
    ]


@pytest.mark.parametrize(
    ("kinds", "mark", "wanted"),
    [
        (KINDS, MARK, set(KINDS)),
        (KINDS, MARK("postgresql", "mariadb"), {"postgresql", "mariadb"}),
        (("postgresql", "mariadb"), MARK, {"postgresql", "mariadb"}),
        (("mariadb",), MARK, {"mariadb"}),
    ],
    ids=["all", "named by the mark", "of the test", "one alone"],
)
def test_each_runs_on_one_kind_that_it_has(kinds, mark, wanted):
    chosen = [chosen_of(items(number, kinds, mark)) for number in range(60)]
    assert {len(one) for one in chosen} == {1}
    assert {item.callspec.params["database_kind"] for (item,) in chosen} == wanted


@pytest.mark.parametrize(
    ("kinds", "mark"),
    [(KINDS, MARK("postgresql", "mariadb")), (("postgresql", "mariadb"), MARK)],
    ids=["named by the mark", "of the test"],
)
def test_none_runs_where_no_kind_is_chosen_that_it_may_have(monkeypatch, kinds, mark):
    monkeypatch.setattr(fixtures, "CHOSEN", ["sqlite"])
    assert chosen_of(items(1, kinds, mark)) == []


def test_others_run_on_each_kind():
    assert len(chosen_of(items(1, KINDS, mark=None))) == len(KINDS)
