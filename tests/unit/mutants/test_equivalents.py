"""The list of mutants that change nothing (tests/mutants/equivalent.yaml)."""

from pathlib import Path

from tests.mutants import equivalents
from tests.mutants.places import places_of

ROOT = Path(__file__).parents[3]


def test_each_entry_is_a_mutant_of_today_with_a_reason():
    reasons = equivalents.listed()
    made = {
        mutant.key
        for path in {key[0] for key in reasons}
        for place in places_of(path, (ROOT / path).read_bytes())
        for mutant in place.mutants
    }

    assert sorted(reasons.keys() - made) == []
    assert all(reasons.values())


def test_a_listed_mutant_is_left_out_wherever_its_line_is(tmp_path):
    file = tmp_path / "equivalent.yaml"
    file.write_text(
        "- {path: x.py, function: f, before: return a, after: return None, reason: tested}\n"
    )
    reasons = equivalents.listed(file)
    source = b"\n\ndef f(a):\n    return a\n\n\ndef g(a):\n    return a\n"
    mutants = [mutant for place in places_of("x.py", source) for mutant in place.mutants]

    assert [mutant.function for mutant in equivalents.without(mutants, reasons)] == ["g"]
