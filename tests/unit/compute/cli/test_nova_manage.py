"""`nova-manage`: categories, listings, and what is said to a command that isn't there."""

import signal

import pytest

from compute.cli.command_line import UnusableInput
from compute.cli.nova_manage import main
from placement.installation import our_version


def audit(arguments, config_arguments):
    """Find what is left over.

    The rest of the text is not for the listing.
    """
    return len(arguments) + 10 * len(config_arguments)


CATEGORIES = {"placement": {"audit": audit}}


def test_a_command_gets_its_arguments_and_its_answer_is_the_exit_code():
    assert main(["placement", "audit", "--verbose", "x"], CATEGORIES) == 2


def test_options_before_the_category_are_the_configuration_s():
    argv = ["--config-file", "a", "--config-dir", "b", "--debug", "placement", "audit", "x"]
    assert main(argv, CATEGORIES) == 31


def ending(error):
    """Make a category with one command that ends like this."""

    def ends(arguments, config_arguments):
        raise error

    return {"placement": {"ends": ends}}


def test_input_that_can_t_be_used_is_127_and_one_line(capsys):
    assert main(["placement", "ends"], ending(UnusableInput("no\nsuch thing"))) == 127
    assert capsys.readouterr().err == "nova-manage: no such thing\n"


def test_an_interruption_is_130_and_one_line(capsys):
    assert main(["placement", "ends"], ending(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "nova-manage: interrupted\n"


def test_an_exception_nobody_expected_is_255_with_its_traceback(capsys):
    assert main(["placement", "ends"], ending(ZeroDivisionError("why"))) == 255
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith("ZeroDivisionError: why\n")


def test_a_category_alone_lists_its_commands(capsys):
    assert main(["placement"], CATEGORIES) == 0
    shown = capsys.readouterr().out
    assert "audit" in shown
    assert "Find what is left over." in shown
    assert "The rest" not in shown


def test_a_category_without_commands_says_so(capsys):
    assert main(["placement"], {"placement": {}}) == 0
    assert "no commands" in capsys.readouterr().out


def test_an_unknown_command_is_127_and_names_what_there_is(capsys):
    assert main(["placement", "purge"], CATEGORIES) == 127
    assert capsys.readouterr().err == (
        "nova-manage: unknown command 'purge' of category placement: there is audit\n"
    )


def test_an_unknown_category_is_127(capsys):
    assert main(["cells"], CATEGORIES) == 127
    assert "unknown category 'cells'" in capsys.readouterr().err


def test_nothing_at_all_shows_the_help(capsys):
    assert main([], CATEGORIES) == 0
    assert "usage: nova-manage" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{our_version()}\n"


@pytest.mark.parametrize("argv", [["--unheard-of"], ["--config-file"], ["--config-fil", "x"]])
def test_options_it_does_not_have_are_127(argv, capsys):
    with pytest.raises(SystemExit) as ended:
        main(argv, CATEGORIES)
    assert ended.value.code == 127
    assert "nova-manage: error: " in capsys.readouterr().err


def test_being_asked_to_end_is_130_and_one_line_like_an_interruption(capsys):
    def asked_to_end(arguments, config_arguments):
        signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    assert main(["placement", "ends"], {"placement": {"ends": asked_to_end}}) == 130
    assert capsys.readouterr().err == "nova-manage: interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before
