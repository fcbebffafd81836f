"""What is recorded of a run of all tests."""

import json
import sqlite3

from coverage.numbits import nums_to_numbits

from tests.quick.record import Record
from tests.quick.recording import name_of, recorded

SOURCE = """\
def first():
    return 1


def second():
    return 2
"""


def leave(folder, name, *executed):
    """Write a file of coverage's with these contexts, files and lines."""
    with sqlite3.connect(folder / name) as database:
        database.executescript(
            "CREATE TABLE context (id INTEGER PRIMARY KEY, context TEXT);"
            "CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT);"
            "CREATE TABLE line_bits (file_id INTEGER, context_id INTEGER, numbits BLOB);"
        )
        for number, (context, path, lines) in enumerate(executed):
            database.execute("INSERT INTO context VALUES (?, ?)", (number, context))
            database.execute("INSERT INTO file VALUES (?, ?)", (number, path))
            bits = nums_to_numbits(lines)
            database.execute("INSERT INTO line_bits VALUES (?, ?, ?)", (number, number, bits))
    database.close()


def test_a_run_is_recorded_by_function_and_test(tmp_path):
    root, folder = tmp_path / "root", tmp_path / "left"
    (root / "placement").mkdir(parents=True)
    (root / "placement/lanes.py").write_text(SOURCE)
    folder.mkdir()
    one, two = "tests/test_x.py::test_one", "tests/test_x.py::test_two"
    leave(
        folder,
        "executed.worker",
        (f"{one}[a]", f"{root}/placement/lanes.py", [1, 2]),
        (f"{two}", f"{root}/placement/lanes.py", [1, 5]),
        ("", f"{root}/placement/lanes.py", [6]),
        (f"{one}[a]", "/usr/lib/flask.py", [1]),
    )
    forked = f"{one}[a|b]|{two}[a|b]"
    leave(folder, "executed.program", (forked, "/env/site-packages/placement/lanes.py", [6]))
    # of processes that were killed
    (folder / "executed.killed").touch()
    (folder / "executed.killed-journal").write_bytes(b"half")
    lines = [[f"{one}[a]", 1.0, True], [f"{one}[b]", 2.0, True], [two, 0.5, True]]
    skipped = ["tests/test_x.py::test_skipped", 0.1, False]
    (folder / "seconds.gw0").write_text("\n".join(map(json.dumps, [*lines, skipped])))
    record = recorded(folder, root)
    assert record.tests == {one: 3.0, two: 0.5}
    assert record.functions == {"placement/lanes.py": {"first": 0b01, "second": 0b10}}


def test_a_record_is_read_as_it_was_written(tmp_path):
    record = Record({"a": 1.5, "b": 0.0}, {"placement/app.py": {"start": 3, "": 2}}, "abc")
    record.write(tmp_path / "record")
    assert Record.read(tmp_path / "record") == record


def test_parameters_are_no_test_of_their_own_but_files_of_requests_are():
    assert name_of("tests/test_x.py::TestX::test_y[a::b[c]]") == "tests/test_x.py::TestX::test_y"
    assert name_of("tests/gabbi/test_gabbi.py::t[sqlite-root]").endswith("[sqlite-root]")


def test_the_bits_of_a_function_are_tests():
    assert Record({"a": 1.0, "b": 1.0, "c": 1.0}, {}).named(0b101) == {"a", "c"}
