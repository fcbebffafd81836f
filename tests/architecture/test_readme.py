"""What README.rst promises is what CI runs."""

import pathlib

ROOT = pathlib.Path(__file__).parents[2]
INSTALL = "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install tox && python3 -m tox"


def test_both_commands_stand_in_the_readme() -> None:
    lines = [line.strip() for line in (ROOT / "README.rst").read_text().splitlines()]
    assert {INSTALL, f"{INSTALL} -e demo"} <= set(lines)


def test_ci_runs_the_readmes_commands() -> None:
    lines = [line.strip() for line in (ROOT / ".ci" / "run").read_text().splitlines()]
    assert {INSTALL, "python3 -m tox -e demo"} <= set(lines)


def test_the_readme_fits_three_screens() -> None:
    assert len((ROOT / "README.rst").read_text().splitlines()) <= 140
