"""PostgreSQL plans the statements of small requests once in a session, not at each request."""

import pytest
import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from tests.functional.placement.small_cloud import ROOT, holding, numbered

TIMES = 12
#: PostgreSQL makes as many plans for given values before it makes one for all values
TRIED = 5
_PREPARED = Compiled(
    sa.text("SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements").columns(
        statement=sa.String, generic_plans=sa.Integer, custom_plans=sa.Integer
    )
)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("consumers", [1, 2])
def test_claims_moves_and_deletions_are_planned_once(filled, consumers):
    for turn in range(TIMES):
        new = [numbered("d", 10 * turn + place) for place in range(consumers)]
        moved = [numbered("e", 10 * turn + place) for place in range(consumers)]
        held = holding({ROOT: {"DISK_GB": 1}})
        filled.write("POST", "/allocations", dict.fromkeys(new, held))
        given_up = dict.fromkeys(new, holding({}, generation=1))
        filled.write("POST", "/allocations", given_up | dict.fromkeys(moved, held))
        filled.write("POST", "/allocations", dict.fromkeys(moved, holding({}, generation=1)))
    assert {text: plans for text, plans in _plans(filled).items() if plans[1] > TRIED} == {}


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_changes_of_a_provider_are_planned_once(filled):
    path = f"/resource_providers/{ROOT}"
    for generation in range(5, 5 + 2 * TIMES, 2):
        total = 100 + generation
        stock = {"VCPU": {"total": total}, "DISK_GB": {"total": 100}}
        body = {"resource_provider_generation": generation, "inventories": stock}
        filled.write("PUT", f"{path}/inventories", body)
        traits = ["CUSTOM_T", "HW_CPU_X86_AVX" if generation % 4 == 1 else "HW_CPU_X86_AVX2"]
        body = {"resource_provider_generation": generation + 1, "traits": traits}
        filled.write("PUT", f"{path}/traits", body)
    assert {text: plans for text, plans in _plans(filled).items() if plans[1] > TRIED} == {}


def _plans(service):
    """Return how many plans were made for all values and for given ones, by statement."""
    found = service.database.read(lambda connection: connection.execute(_PREPARED).all())
    planned = {statement: (general, given) for statement, general, given in found}
    assert planned, "the writes had another session"
    return planned
