"""`audit --every` and `--textfile`: metrics of audits that go on whatever happens."""

import os
import signal
import stat
import subprocess
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from compute.cli.nova_manage import main
from compute.records.instance import Flavor
from tests.functional.compute.agent.process import lines_until
from tests.functional.forked import PATIENCE, Forked
from tests.functional.placement.serving.programs import needed
from virt.fake import MediumFakeDriver

FLAVOR = Flavor(vcpus=2, memory_mb=1024, root_gb=20)
SHARE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 20}


@pytest.fixture
def root(sqlite_site):
    return sqlite_site.started(MediumFakeDriver)


@pytest.fixture
def file(tmp_path):
    """Return the file that is written, in a folder of its own."""
    folder = tmp_path / "collected"
    folder.mkdir()
    return folder / "berth_audit.prom"


def told(file):
    """Series without its labels' names → value."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(file.read_text())
        for sample in family.samples
    }


def test_the_file_has_what_was_found_and_anyone_may_read_it(sqlite_site, root, file):
    sqlite_site.remember_a_guest()
    with sqlite_site.placement() as outsider:
        outsider.allocate({root: {"VCPU": 1}})
    before = os.umask(0o077)
    try:
        assert sqlite_site.run("audit", "--textfile", str(file)).code == 3
    finally:
        os.umask(before)
    counted = told(file)
    assert counted["berth_audit_suspected_leaks", "unrecorded"] == 1
    assert sum(v for k, v in counted.items() if k[0] == "berth_audit_suspected_leaks") == 1
    kinds = {
        kind for name, *rest in counted if name == "berth_audit_suspected_leaks" for kind in rest
    }
    assert kinds == {
        "gone",
        "elsewhere",
        "unrecorded",
        "running",
        "in_doubt",
        "not_ours",
        "other_type",
    }
    assert counted["berth_audit_runs_total",] == 1
    assert counted["berth_audit_failures_total",] == 0
    assert counted["berth_audit_last_good_timestamp_seconds",] > 1e9
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert os.listdir(file.parent) == [file.name]
    checked = subprocess.run(
        [needed("promtool", "prometheus"), "check", "metrics"],
        input=file.read_text(),
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_guests_that_hold_less_or_more_than_they_should_are_counted(sqlite_site, root, file):
    less, more = (sqlite_site.guest(flavor=FLAVOR, vm_state="active") for _ in range(2))
    both = sqlite_site.guest(flavor=FLAVOR, vm_state="active")
    sqlite_site.guest(flavor=FLAVOR, vm_state="active")
    with sqlite_site.placement() as outsider:
        outsider.allocate({root: {"VCPU": 2, "MEMORY_MB": 1024}}, less)
        outsider.allocate({root: {**SHARE, "VCPU": 3}}, more)
        outsider.allocate({root: {**SHARE, "VCPU": 1, "DISK_GB": 30}}, both)
    assert sqlite_site.run("audit", "--textfile", str(file)).code == 3
    counted = told(file)
    assert counted["berth_audit_misfit_guests", "lacking"] == 3
    assert counted["berth_audit_misfit_guests", "surplus"] == 2
    assert sqlite_site.run("heal_allocations").code == 0
    assert sqlite_site.run("audit", "--textfile", str(file)).code == 0
    counted = told(file)
    assert counted["berth_audit_misfit_guests", "lacking"] == 0
    assert counted["berth_audit_misfit_guests", "surplus"] == 2


def test_an_audit_of_one_provider_keeps_what_the_file_says_of_guests(sqlite_site, root, file):
    """It judges no guest, so it knows nothing of them."""
    one_alone = ("audit", "--resource_provider", root, "--textfile", str(file))
    assert sqlite_site.run(*one_alone).code == 0
    assert not any(name == "berth_audit_misfit_guests" for name, *_ in told(file))
    sqlite_site.guest(flavor=FLAVOR, vm_state="active")
    assert sqlite_site.run("audit", "--textfile", str(file)).code == 3
    assert sqlite_site.run(*one_alone).code == 0
    assert told(file)["berth_audit_misfit_guests", "lacking"] == 1


def test_an_audit_that_fails_is_told_in_the_file_too(sqlite_site, file):
    sqlite_site.configure(
        more="[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:1\ntoken = x\n"
    )
    assert sqlite_site.run("audit", "--http", "--textfile", str(file)).code == 1
    counted = told(file)
    assert counted["berth_audit_failures_total",] == 1
    assert not any(name == "berth_audit_suspected_leaks" for name, *_ in counted)


@pytest.mark.parametrize(
    ("before", "last"),
    [
        (
            "berth_audit_last_good_timestamp_seconds 1.7e9\n"
            'berth_audit_suspected_leaks{kind="gone"} 3\n'
            'berth_audit_suspected_leaks{kind="odd"} 4\n'
            'berth_audit_misfit_guests{kind="lacking"} 5\n'
            'berth_audit_misfit_guests{kind="gone"} 6\n',
            1.7e9,
        ),
        ("berth_audit_last_good_timestamp_seconds soon\n", 0),
        ("\0\0", 0),
        ("", 0),
    ],
)
def test_an_audit_that_fails_does_not_forget_the_last_good_one(sqlite_site, file, before, last):
    file.write_text(before)
    sqlite_site.configure(
        more="[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:1\ntoken = x\n"
    )
    assert sqlite_site.run("audit", "--http", "--textfile", str(file)).code == 1
    counted = told(file)
    assert counted["berth_audit_last_good_timestamp_seconds",] == last
    leaks = {kind[0]: v for (name, *kind), v in counted.items() if name.endswith("leaks")}
    assert leaks == ({"gone": 3} if last else {})
    guests = {kind[0]: v for (name, *kind), v in counted.items() if name.endswith("guests")}
    assert guests == ({"lacking": 5} if last else {})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--every", "5", "--delete"], "--every only looks"),
        (["--textfile", "x", "--undo", "y"], "--textfile only looks"),
        (["--every", "5", "--json"], "doesn't go with --every"),
        (["--textfile", "/nowhere/at/all.prom"], "there is no folder /nowhere/at"),
    ],
)
def test_what_makes_no_sense_is_refused(sqlite_site, options, reason):
    ended = sqlite_site.run("audit", *options)
    assert ended.code == 127
    assert reason in ended.err


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "1.5", "9999999999"])
def test_a_time_that_is_none_is_bad_usage(sqlite_site, seconds, capsys):
    with pytest.raises(SystemExit) as ended:
        sqlite_site.run("audit", f"--every={seconds}")
    assert ended.value.code == 127
    assert f"argument --every: '{seconds}' is no number of seconds" in capsys.readouterr().err


def test_it_goes_on_while_placement_is_away_and_ends_at_a_signal(sqlite_site, root, file, forking):
    database = sqlite_site.url.removeprefix("sqlite:///")
    away, nothing = f"{database}.away", f"{database}.nothing"
    arguments = ["placement", "audit", "--every", "1", "--textfile", str(file)]
    running = Forked(main, [f"--config-file={sqlite_site.file}", *arguments], {**os.environ})
    try:
        wait_for(lambda: file.exists() and told(file)["berth_audit_runs_total",] >= 1)
        os.link(database, away)
        # in one step, and by what SQLite makes no database of: an audit may have looked for it
        os.symlink("/nowhere/at/all", nothing)
        os.replace(nothing, database)
        lines_until(running, "There is no placement database")
        wait_for(lambda: told(file)["berth_audit_failures_total",] >= 1)
        os.replace(away, database)
        counted = told(file)
        last = counted["berth_audit_last_good_timestamp_seconds",]
        assert counted["berth_audit_suspected_leaks", "gone"] == 0
        wait_for(lambda: told(file)["berth_audit_last_good_timestamp_seconds",] > last)
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate()
        assert running.returncode == 130
        assert said.endswith("nova-manage: interrupted\n")
        assert os.listdir(file.parent) == [file.name]
    finally:
        running.end()


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
