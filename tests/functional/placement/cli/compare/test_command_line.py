"""placement-manage compare: its command line, requests from logs, and the program."""

import functools
import gzip
import os
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import pytest

from placement.cli import compare_command
from tests.functional.placement.cli.compare.cloud import PATH, SECRET
from tests.functional.placement.served import Recorded, served
from tests.patience import PATIENCE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--with", "ftp://x"], "--with: it must begin with http://"),
        (["--with", f"http://user:{SECRET}@x"], "--with: it must have no user and no password"),
        (["--with", "http://x?a=b"], "--with: it must end with a path or the port"),
        (["--with", "http://x:y"], "--with: it can't be parsed"),
        (["--with", "http://x", "--url", "x"], "--url: it must begin with http://"),
        (["--with", "http://x", "--cacert", "/nowhere"], "--cacert: /nowhere can't be read"),
        (["--with", "http://x", "--rate", "fast"], "'fast' is no number from 0 to"),
        (["--with", "http://x", "--tries", "0"], "'0' is no number from 1 to"),
        (["--with", "http://x", "--requests", "a", "--from-access-log", "b"], "not allowed with"),
    ],
)
def test_a_wrong_command_line_is_refused(options, said, run, service):
    code, out, err = run(*options)
    assert (code, out, said in err, SECRET in err) == (2, "", True, False), err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("PUT /traits/CUSTOM_X", "line 2: PUT is refused, because only GET requests are sent."),
        ("delete /traits/CUSTOM_X", "line 2: DELETE is refused"),
        ("GET traits", "line 2: 'traits' is no path"),
        ("GET /traits 1", "line 2: '1' is no microversion"),
        ("    X-Auth-Token: x", "line 2: X-Auth-Token can't be in the file"),
        ("    Content-Length: 5", "line 2: Content-Length can't be set"),
    ],
)
def test_a_file_with_another_request_is_refused_before_anything_is_sent(
    line, said, run, application, file
):
    recorded = Recorded(application)
    with served(recorded) as url:
        code, out, err = run("--with", url, *file("GET /traits", line))
    assert (code, out, said in err) == (2, "", True), err
    assert [path for _, path, _ in recorded.requests] == ["/", "/resource_classes"]


@pytest.mark.parametrize("option", ["--requests", "--from-access-log"])
def test_a_file_that_is_not_there_is_a_wrong_command_line(option, run, url):
    code, _, err = run("--with", url, option, "/nowhere/file")
    assert (code, "/nowhere/file can't be read: No such file" in err) == (2, True)


def test_without_a_database_the_options_are_named(run, url, monkeypatch):
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION")
    code, _, err = run("--with", url)
    assert (code, "connection isn't configured" in err, "--url" in err) == (3, True, True)


def test_an_unusable_database_is_no_difference(run, url, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:////nowhere/placement.db")
    code, out, err = run("--with", url)
    assert (code, out, err.count("\n")) == (3, "", 1)


def test_the_service_s_own_log_file_is_left_alone(run, url, file, tmp_path, monkeypatch):
    monkeypatch.setenv("OS_DEFAULT__LOG_FILE", str(tmp_path / "placement.log"))
    assert run("--with", url, *file(f"GET {PATH}"))[0] == 0
    assert not (tmp_path / "placement.log").exists()


def test_the_database_s_password_is_not_shown(monkeypatch):
    url = "postgresql://placement:s3cr3t@127.0.0.1/placement?password=s3cr3t"
    assert "s3cr3t" not in compare_command.shown_url(url)
    assert compare_command.shown_url(url) == "postgresql://placement:***@127.0.0.1/placement"


def test_the_requests_of_a_log_are_sent_with_their_microversions(run, application, tmp_path):
    log = tmp_path / "access.log.gz"
    lines = [
        '::1 - - [05/Jan/2026:10:00:00 +0000] "GET /placement/traits HTTP/1.1" 200 9 "-" "x"',
        '::1 - - [05/Jan/2026:10:00:00 +0000] "PUT /placement/traits/CUSTOM_A HTTP/1.1" 201 0',
        "2026-01-05 10:00:00.000 7 INFO placement.requestlog [req-1] 127.0.0.1 "
        f'"GET /placement{PATH}" status: 200 len: 9 microversion: 1.14',
        "nothing of interest",
    ]
    log.write_bytes(gzip.compress("\n".join([*lines, *lines]).encode()))
    recorded = Recorded(application)
    with served(recorded) as url:
        code, out, _ = run("--with", url, "--from-access-log", str(log), "--microversion", "1.20")
    assert code == 0, out
    sent = {(path, headers["openstack-api-version"]) for _, path, headers in recorded.requests[2:]}
    assert sent == {("/traits", "placement 1.20"), (PATH, "placement 1.14")}
    assert "2  skipped: requests with another method than GET\n" in out
    assert "2  skipped: requests that were there before\n" in out
    assert "2  skipped: lines without a request\n" in out


def test_a_log_without_requests_is_no_success(run, url, tmp_path):
    (tmp_path / "log").write_text("nothing\n")
    code, _, err = run("--with", url, "--from-access-log", str(tmp_path / "log"))
    assert (code, "There is no request to send (1 lines without a request)." in err) == (3, True)


@pytest.fixture
def program():
    return [str(Path(sysconfig.get_path("scripts")) / "placement-manage"), "compare"]


def test_requests_may_come_from_standard_input(run, url, file, monkeypatch):
    _, written = file(f"GET {PATH}")
    with open(written) as requests:
        monkeypatch.setattr(sys, "stdin", requests)
        code, out, err = run("--with", url, "--requests", "-")
    assert (code, "1  same\n" in out) == (0, True), err


def test_an_interruption_shows_what_is_known_so_far(program, application):
    asked, interrupted = threading.Event(), threading.Event()

    def slow(environ, start_response):
        if environ["QUERY_STRING"] == "n=5":
            asked.set()
            # whoever interrupts may be slow: the other questions come after it
            interrupted.wait(PATIENCE)
        return application(environ, start_response)

    questions = "".join(f"GET {PATH}?n={number}\n" for number in range(400))
    with served(slow) as url:
        running = subprocess.Popen(
            [*program, "--with", url, "--requests", "-", "--rate", "50"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # a shell's job in the background passes on that it ignores interruptions
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        running.stdin.write(questions)
        running.stdin.close()
        assert asked.wait(PATIENCE)
        running.send_signal(signal.SIGINT)
        interrupted.set()
        out, err = running.stdout.read(), running.stderr.read()
        running.wait()
    assert (running.returncode, "Traceback" in err) == (130, False), err
    assert "The run ended early: interrupted" in out
    assert "requests were not compared" in out


def test_two_running_services_are_compared_without_loading_the_service():
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, placement.compare.run, placement.compare.sample\n"
            "import placement.cli.compare_command\n"
            "print([name for name in sys.modules if name.startswith(('placement.app', 'sqlalchemy',"
            " 'flask', 'numpy', 'placement.storage'))])",
        ],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert loaded.stdout == "[]\n"
