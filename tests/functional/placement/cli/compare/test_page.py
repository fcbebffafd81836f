"""What doc/compare.rst shows is what the command does."""

import argparse
import re
import textwrap

import pytest

from placement.cli import compare_options, manage
from placement.compare import access_log, deviations, exit_codes
from placement.compare.request import read_requests
from placement.compare.verdict import MATTERING
from tests.page_code import text_of

PAGE = text_of("compare.rst")


def shown_after(words):
    """Return the literal block that follows these words on the page."""
    _, found, rest = PAGE.partition(words)
    assert found, words
    (block,) = re.findall(r"::\n\n((?:(?: {4}.*)?\n)+)", rest)[:1]
    return textwrap.dedent(block).strip("\n")


def form_of(text):
    """Return a report without numbers and addresses."""
    text = re.sub(r"(this|other) service: .*", r"\1 service:", text)
    text = re.sub(r"(Statuses of the other service:).*", r"\1", text)
    return re.sub(r"^ *\d+|(?<=\()\d+", "N", text, flags=re.M).strip()


def test_the_first_comparison_ends_as_shown(url, capfd, own_logging):
    command = shown_after("The first comparison").splitlines()[-1].split()
    assert command == ["placement-manage", "compare", "--with", "http://127.0.0.1:8778"]
    assert manage.main([*command[1:-1], url, "--rate", "0", "--sample", "1"]) == 0
    assert form_of(capfd.readouterr().out) == form_of(shown_after("The result"))


def test_the_file_of_requests_is_sent(url, capfd, own_logging, tmp_path):
    path = tmp_path / "requests"
    path.write_text(shown_after("sends the requests of a file"))
    code = manage.main(["compare", "--with", url, "--requests", str(path)])
    assert (code, "4  same\n" in capfd.readouterr().out) == (0, True)
    *_, last = read_requests(path.read_text().splitlines(), "1.39")
    assert (last.path, last.version, last.headers) == ("/nothing", None, (("Accept", "text/html"),))


def test_the_lines_of_logs_are_read():
    lines = shown_after("These are some lines that it reads").splitlines()
    chosen = access_log.choose(lines, 1000, 0, "1.39")
    assert {(request.path, request.version) for request in chosen.requests} == {
        ("/traits", "1.36"),
        ("/resource_classes", "1.39"),
        ("/usages?project_id=p", "1.39"),
        ("/resource_providers", "1.39"),
    }
    assert chosen.skipped == {}


def test_a_log_s_own_format_may_have_the_microversion():
    (words,) = re.findall(r"a format of your own logs ``(.*?)``", PAGE)
    line = f'::1 - - [x] "GET /traits HTTP/1.1" 200 9 "{words}"'
    assert access_log.choose([line], 9, 0, "1.39").requests[0].version == "1.36"


def test_the_exit_codes_are_those_of_the_program():
    codes = {int(code) for code in re.findall(r"^``(\d+)``", PAGE, re.M)}
    assert codes == {
        exit_codes.SAME,
        exit_codes.DIFFERENT,
        # argparse's own, for a wrong command line
        2,
        exit_codes.INCOMPLETE,
        exit_codes.INTERRUPTED,
    }


def test_the_headers_are_those_that_are_compared():
    told = re.search(r"and the headers (.*?)\. The order", PAGE, re.S)[1]
    assert {name.lower() for name in re.findall(r"``([\w-]+)``", told)} == set(MATTERING)


def options():
    """Return the options of the command by name, with their defaults."""
    parser = argparse.ArgumentParser()
    compare_options.add_command(parser.add_subparsers())
    (subparsers,) = parser._subparsers._group_actions
    return {
        action.option_strings[-1]: action.default
        for action in subparsers.choices["compare"]._actions
    }


def test_every_option_is_on_the_page_and_the_page_has_no_other_one():
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert options().keys() - told == {"--help", "--show"}
    assert told - options().keys() == set()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--sample", r"``--sample``\s+providers \((\d+)\)"),
        ("--limit", r"``--limit`` requests \(([\d,]+)\)"),
        ("--rate", r"``--rate`` requests in a second \((\d+)\)"),
        ("--concurrency", r"``--concurrency`` of them at the same time \((\d+)\)"),
        ("--timeout", r"``--timeout`` \((\d+) seconds\)"),
    ],
)
def test_the_defaults_are_those_of_the_program(option, words):
    assert int(re.search(words, PAGE)[1].replace(",", "")) == options()[option]


def test_the_page_names_the_list_of_deviations():
    assert f"``{deviations.__name__.replace('.', '/')}.py``" in PAGE
