"""What is mutated, and how (tests/mutants)."""

import textwrap

import pytest

from tests.mutants.places import Place, places_of, sampled


def mutants_of(body, head="def f(a, b):"):
    source = f"{head}\n{textwrap.indent(body, '    ')}\n".encode()
    return source, [mutant for place in places_of("x.py", source) for mutant in place.mutants]


def becomes(body):
    """Return what the lines of a function's body become, one after the other."""
    return [mutant.after for mutant in mutants_of(body)[1]]


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("g(a < b)", ["pass", "g(a <= b)", "g(a >= b)"]),
        ("g((a)==(b))", ["pass", "g((a)!=(b))"]),
        ("g(a is not b)", ["pass", "g(a is b)"]),
        ("g(a not in b)", ["pass", "g(a in b)"]),
        ("x = a < b != a", ["x = a <= b != a", "x = a >= b != a", "x = a < b == a"]),
        ("x = a and (b)", ["x = a or (b)", "x = True and (b)", "x = a and (True)"]),
        ("x = a or b", ["x = a and b", "x = False or b", "x = a or False"]),
        ("x = not (a)", ["x = ((a))"]),
        ("x = ~a", ["x = a"]),
        ("x = (a + b) * b", ["x = (a + b) + b", "x = (a + b)", "x = (a - b) * b", "x = ((a)) * b"]),
        ("x += b", ["pass", "x -= b"]),
        ("x = True", ["x = False"]),
        ("x = g(1.5)", ["x = g(3.0)"]),
        ("return a", ["return None"]),
        ("return", ["pass"]),
        ("return None", []),
        ("raise a", ["pass"]),
        ("x = min(a)", ["x = max(a)"]),
        ("x = sorted(a)", ["x = list(a)"]),
        ("x = sorted(a, key=b)", []),
        ("x = a", []),
        ("a.x = b", ["pass"]),
        ("del a[b]", ["pass"]),
        ("x = [c for c in a if c]", ["x = [c for c in a if True]"]),
    ],
)
def test_a_line_becomes(line, others):
    assert sorted(becomes(line)) == sorted(others)


def test_a_constant_goes_up_and_down_but_not_below_zero():
    assert becomes("x = g(4)") == ["x = g(5)", "x = g(3)"]
    assert becomes("x = g(0)") == ["x = g(1)"]
    assert becomes("x = g(-1)") == ["x = g(1)", "x = g(-2)", "x = g(-0)"]


def test_a_condition_is_met_always_or_never_or_the_other_way_round():
    assert becomes("if a:\n    g = b") == ["if True:", "if False:", "if not (a):"]
    assert becomes("while a:\n    g = b") == ["while False:", "while not (a):"]
    assert becomes("x = a if b else a") == [
        "x = a if True else a",
        "x = a if False else a",
        "x = a if not (b) else a",
    ]


def test_a_loop_takes_no_turn_or_ends_early():
    assert becomes("for x in a:\n    continue") == ["for x in ():", "break"]
    assert becomes("for x in a:\n    break") == ["for x in ():", "pass"]


@pytest.mark.parametrize(
    "body",
    [
        '"""A docstring about 1 < 2."""',
        'LOG.info("%s of %s", a + 1, b)',
        "assert a < b",
        'x = f"{a + 1:>3}"',
        'x = a + "text"',
        "x: dict[1, 2] = a",
    ],
)
def test_what_people_or_tools_read_stays(body):
    assert becomes(body) == []


def test_a_repr_and_what_is_outside_of_functions_stay():
    assert mutants_of("return 1", "class A:\n  def __repr__(self):")[1] == []
    assert places_of("x.py", b"LIMIT = 5\nif TYPE_CHECKING:\n    x = 1\n") == []


def test_a_mutant_is_the_source_with_one_change():
    source, mutants = mutants_of("x = g(\n    'é',\n    a < b,\n)")

    (mutant, _) = mutants

    assert (mutant.path, mutant.function, mutant.line) == ("x.py", "f", 4)
    assert (mutant.before, mutant.after) == ("a < b,", "a <= b,")
    assert mutant.applied(source) == source.replace(b"<", b"<=")


def test_a_statement_of_several_lines_is_dropped_whole():
    source, mutants = mutants_of("g(\n    a,\n)\nx = b")

    (mutant,) = mutants

    assert mutant.before == "g(\na,\n)"
    assert mutant.applied(source) == b"def f(a, b):\n    pass\n    x = b\n"


SOURCE = b"def f(a):\n    return a < 1\n\n\ndef g(a):\n    return a < 1\n"


def test_the_seed_decides_which_mutants_come_first():
    places = places_of("x.py", SOURCE)
    orders = {tuple(str(mutant) for mutant in sampled(places, seed)) for seed in range(9)}

    assert len(orders) == 9
    assert sampled(places, 1) == sampled(list(reversed(places)), 1)


def test_a_change_elsewhere_moves_no_mutant():
    edited = b"import os\n\n" + SOURCE.replace(b"def g(a):\n    return", b"def g(a):\n    a = ")

    def of_f(source):
        found = sampled(places_of("x.py", source), 1)
        return [mutant.key for mutant in found if mutant.function == "f"]

    assert of_f(edited) == of_f(SOURCE)


def test_each_place_gives_one_mutant():
    place = places_of("x.py", b"def f(a):\n    x = a < b\n")[0]

    assert isinstance(place, Place)
    assert len(place.mutants) == 2
    assert len(sampled([place], 1)) == 1
    assert {sampled([place], seed)[0] for seed in range(20)} == set(place.mutants)
