"""contrib/logrotate: logrotate moves the log away while the service writes it."""

import getpass
import grp
import gzip
import os
import subprocess

import pytest

from tests.contrib.files import adapted
from tests.contrib.load import Load
from tests.functional.placement.serving.programs import FORKED, free_port, needed, wait_until

FILE = "logrotate/placement-api"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs") / "log"
    folder.mkdir(mode=0o750)
    return folder


@pytest.fixture(scope="module")
def running(start_for_module, logs):
    """Return the service with several processes that write one file."""
    port = free_port()
    command = [FORKED, "--port", str(port), "--workers", "2"]
    # as `log_dir` in placement.conf
    log = f"{logs}/placement.log"
    return start_for_module(command, f"http://127.0.0.1:{port}", OS_DEFAULT__LOG_FILE=log)


@pytest.fixture
def service(running, logs):
    """Return the service; nothing of other tests is in its log."""
    for path in logs.iterdir():
        path.unlink()
    return running


@pytest.fixture
def rotate(tmp_path, logs):
    """Return a function that runs logrotate with the file, as on another day."""
    group = grp.getgrgid(os.getgid()).gr_name
    ours = {
        "/var/log/placement/": f"{logs}/",
        "placement placement": f"{getpass.getuser()} {group}",
    }
    path = tmp_path / "placement-api"
    path.write_text(adapted(FILE, ours))
    path.chmod(0o644)
    program = needed("logrotate", "logrotate")
    state = ["--state", str(tmp_path / "state")]

    def rotate(*more):
        command = [program, *state, *(more or ["--force"]), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # without --debug, logrotate prints nothing but errors
        assert (done.returncode, done.stderr if not more else "") == (0, "")

    return rotate


def lines(logs):
    """Return the lines of the current file and of all rotated ones."""
    found = []
    for path in logs.iterdir():
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found += content.decode().splitlines()
    return found


def test_logrotate_understands_the_file(rotate, logs):
    with (logs / "placement.log").open("a") as log:
        log.write("a line\n")
    rotate("--debug")


def test_no_line_is_lost_in_a_rotation_while_workers_write(service, rotate, logs):
    def ask(number):
        return service.request("GET", f"/traits/CUSTOM_{number}")

    with Load(ask) as load:
        for _ in range(3):
            enough = load.sent() + 30
            wait_until(lambda enough=enough: load.sent() > enough, service.said)
            rotate()
    assert set(load.answers) == {404}
    said = [line for line in lines(logs) if '"GET /traits/CUSTOM_' in line]
    names = {line.partition("/traits/")[2].partition('"')[0] for line in said}
    assert (len(said), names) == (load.sent(), {f"CUSTOM_{n + 1}" for n in range(load.sent())})
    # the last rotated file isn't compressed: a worker may still write its end
    assert {path.name for path in logs.iterdir()} == {
        "placement.log",
        "placement.log.1",
        "placement.log.2.gz",
        "placement.log.3.gz",
    }


def test_workers_write_into_the_new_file_which_others_can_not_read(service, rotate, logs):
    service.request("GET", "/traits/CUSTOM_BEFORE")
    rotate()
    service.request("GET", "/traits/CUSTOM_AFTER")
    text = (logs / "placement.log").read_text()
    assert ("CUSTOM_BEFORE" in text, "CUSTOM_AFTER" in text) == (False, True)
    assert (logs / "placement.log").stat().st_mode & 0o777 == 0o640
