"""How much disk there is where guests' disks aren't files."""

import json
import subprocess
import sys

import pytest

from compute.exceptions import InvalidConfiguration, VirtDriverNotReady
from tests.patience import PATIENCE
from virt.libvirt import disk_pools
from virt.libvirt.disk_pools import Disks, run_program
from virt.node.facts import DiskSpace

GIB = 1024**3
TOLD = {
    "stats": {"total_bytes": 1000 * GIB + 5},
    "pools": [{"name": "vms", "stats": {"bytes_used": 30 * GIB, "max_avail": 100 * GIB}}],
}


def answering(text, asked=None):
    def run(arguments):
        if asked is not None:
            asked.extend(arguments)
        return text

    return run


def test_ceph_has_what_it_says_and_the_pool_what_is_free():
    asked = []
    disks = Disks("/instances", "rbd", pool="vms", ceph_conf="/etc/c.conf", ceph_user="nova")
    assert disks.space(answering(json.dumps(TOLD), asked)) == DiskSpace(1000, 100)
    assert asked == ["ceph", "df", "--format=json", "--id", "nova", "--conf", "/etc/c.conf"]


def test_a_pool_that_ceph_lacks_is_refused():
    with pytest.raises(InvalidConfiguration, match="images_rbd_pool is rbd, which"):
        Disks("/instances", "rbd").space(answering(json.dumps(TOLD)))


def test_a_volume_group_has_its_size():
    asked = []
    disks = Disks("/instances", "lvm", volume_group="nova")
    printed = f"  {100 * GIB + 7}|{40 * GIB}\n"
    assert disks.space(answering(printed, asked)) == DiskSpace(100, 40)
    assert (asked[0], asked[-1]) == ("vgs", "nova")


@pytest.mark.parametrize("images_type", ["default", "raw", "flat", "qcow2", "ploop"])
def test_files_have_the_file_system(images_type, tmp_path):
    assert Disks(tmp_path, images_type).space().total_gb > 0


@pytest.mark.parametrize(
    ("images_type", "text"),
    [
        ("rbd", "no JSON"),
        ("rbd", "{}"),
        ("rbd", "[]"),
        ("rbd", '{"stats": 1}'),
        ("rbd", '{"stats": {"total_bytes": 1e999}, "pools": []}'),
        ("rbd", '{"stats": {"total_bytes": -1}, "pools": [{"name": "rbd"}]}'),
        ("rbd", "[" * 200_000),
        ("lvm", "x"),
        ("lvm", "-1|-1"),
        ("lvm", "x" * 100_000),
    ],
)
def test_an_answer_that_makes_no_sense_leaves_placement_as_it_is(images_type, text):
    with pytest.raises(VirtDriverNotReady, match="doesn't tell how much disk there is: unknown"):
        Disks("/instances", images_type, volume_group="nova").space(answering(text))


def test_a_message_has_only_the_end_of_a_long_answer():
    with pytest.raises(VirtDriverNotReady) as told:
        Disks("/instances", "lvm", volume_group="nova").space(answering("x" * 100_000))
    assert len(str(told.value)) < 1000


class TestPrograms:
    @pytest.fixture(autouse=True)
    def _may_be_slow(self, monkeypatch):
        monkeypatch.setattr(disk_pools, "PATIENCE", PATIENCE)

    def test_what_one_prints_is_returned(self):
        assert run_program([sys.executable, "-c", "print(7)"]) == "7\n"

    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("import sys; sys.exit('no\\n  keyring')", "no keyring"),
            ("import sys; sys.exit(5)", "exit code 5"),
        ],
    )
    def test_one_that_fails_gives_its_reason(self, code, reason):
        with pytest.raises(VirtDriverNotReady, match=reason):
            run_program([sys.executable, "-c", code])

    def test_one_that_is_missing_is_named(self):
        with pytest.raises(VirtDriverNotReady, match="images_type: no-such-program"):
            run_program(["no-such-program"])

    def test_one_that_says_nothing_is_given_up(self, monkeypatch):
        monkeypatch.setattr(disk_pools, "PATIENCE", 0.1)
        with pytest.raises(VirtDriverNotReady, match="no answer within"):
            run_program([sys.executable, "-c", "import signal; signal.pause()"])

    def test_one_is_given_up_with_what_it_started(self, monkeypatch):
        """A wrapper of a container's program starts another one, which keeps the pipes open."""
        monkeypatch.setattr(disk_pools, "PATIENCE", 0.5)
        with pytest.raises(VirtDriverNotReady, match="no answer within"):
            run_program(["sh", "-c", "tail -f /dev/null & wait"])

    def test_one_that_never_stops_printing_is_given_up(self, monkeypatch):
        monkeypatch.setattr(disk_pools, "MOST_BYTES", 2**16)
        with pytest.raises(VirtDriverNotReady, match="prints more than 65536 bytes"):
            run_program(["yes"])

    def test_one_that_closes_its_output_and_stays_is_given_up(self, monkeypatch):
        class Impatient(subprocess.Popen):
            """Waits for no end once the program has closed its output, however late that is."""

            def wait(self, timeout=None):
                return super().wait(timeout and 0)

        monkeypatch.setattr(subprocess, "Popen", Impatient)
        code = "import os, signal; os.close(1); os.close(2); signal.pause()"
        with pytest.raises(VirtDriverNotReady, match="doesn't end within"):
            run_program([sys.executable, "-c", code])

    def test_a_complaint_in_another_encoding_is_told(self):
        with pytest.raises(VirtDriverNotReady, match=r"Schl.ssel fehlt"):
            run_program(["sh", "-c", r"printf 'Schl\374ssel fehlt' >&2; exit 1"])
