"""Which functions of the product each test executes, and how long the test takes.

The file is written by `tox -e record` and kept in the repository. It has one line for each test,
and one for each function with the tests that execute it, as the bits of a number.
"""

import dataclasses
import json
import lzma
from pathlib import Path

#: the packages whose functions are recorded
PACKAGES = ("placement", "compute", "virt", "benchmarks")
PATH = Path(__file__).with_name("record.xz")


@dataclasses.dataclass
class Record:
    """What a run of all tests on SQLite executed.

    A test is a function of a file, `tests/…/test_x.py::test_y`, with all its parameters. Each file
    of requests in `tests/gabbi/gabbits` is a test as well.
    """

    #: the test's name → seconds
    tests: dict[str, float]
    #: path of the file → name of the function → the tests, as bits, the first test's the lowest
    functions: dict[str, dict[str, int]]
    #: the commit that was recorded
    commit: str = ""

    @classmethod
    def read(cls, path: Path = PATH) -> "Record":
        """Read the file; without it, nothing is known of any test."""
        if not path.exists():
            return cls({}, {})
        found = json.loads(lzma.decompress(path.read_bytes()))
        functions = {
            path: {name: int(bits, 16) for name, bits in names.items()}
            for path, names in found["functions"].items()
        }
        return cls(dict(found["tests"]), functions, found["commit"])

    def write(self, path: Path = PATH) -> None:
        """Write the file."""
        functions = {
            path: {name: f"{bits:x}" for name, bits in sorted(names.items())}
            for path, names in sorted(self.functions.items())
        }
        found = {"commit": self.commit, "tests": list(self.tests.items()), "functions": functions}
        path.write_bytes(lzma.compress(json.dumps(found).encode(), preset=9 | lzma.PRESET_EXTREME))

    def named(self, bits: int) -> set[str]:
        """Return the names of tests."""
        return {name for place, name in enumerate(self.tests) if bits >> place & 1}

    @property
    def files(self) -> set[str]:
        """The files of all tests that the record knows."""
        return {name.partition("::")[0] for name in self.tests}
