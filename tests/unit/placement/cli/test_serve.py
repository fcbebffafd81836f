"""The command line of placement-api."""

import pytest

from placement.cli.serve import main, parser


@pytest.mark.parametrize(
    ("option", "given", "range_"),
    [
        ("--port", "0", "from 1 to 65535"),
        ("--port", "99999", "from 1 to 65535"),
        ("--port", "http", "a whole number"),
        ("--workers", "0", "from 1 to 1000"),
        ("--workers", "1001", "from 1 to 1000"),
        ("--workers", "1.5", "a whole number"),
        ("--threads", "0", "from 1 to 1000"),
        ("--threads", "-1", "from 1 to 1000"),
        ("--spool-size", "0", "from 1 to 1000000"),
        ("--client-timeout", "0", "from 0.1 to 86400"),
        ("--client-timeout", "-5", "from 0.1 to 86400"),
        ("--client-timeout", "nan", "from 0.1 to 86400"),
        ("--client-timeout", "inf", "from 0.1 to 86400"),
    ],
)
def test_a_number_outside_its_range_is_rejected(capsys, option, given, range_):
    with pytest.raises(SystemExit) as ended:
        main([f"{option}={given}"])
    said = capsys.readouterr().err.splitlines()[-1]
    assert ended.value.code == 2
    # a short form may follow the option
    assert said.startswith(f"placement-api: error: argument {option}")
    assert f": '{given}' is not a" in said
    assert range_ in said


def test_numbers_at_the_ends_of_their_ranges_are_accepted():
    given = parser().parse_args(
        ["--port=65535", "--workers=1000", "--threads=1", "--client-timeout=0.1"]
    )
    assert (given.port, given.workers, given.threads, given.client_timeout) == (65535, 1000, 1, 0.1)
