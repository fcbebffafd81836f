"""A release is made by one command, which installs what it made."""

import hashlib
import json
import os
import subprocess
import sys

from tests.contrib.container.image import BASE, STORAGE
from tests.installation.conftest import ROOT


def test_a_release_has_its_parts_and_their_checksums(tmp_path):
    folder = tmp_path / "release"
    command = [sys.executable, ROOT / "contrib/release/make_release.py", "--dirty", folder]
    # buildah, if it is there, asks no registry, and leaves nothing
    storage = tmp_path / "storage.conf"
    storage.write_text(STORAGE.format(tmp_path))
    environ = {"CONTAINERS_STORAGE_CONF": str(storage), "BUILDAH_ISOLATION": "chroot"}
    subprocess.run([*command, "--base", BASE], check=True, env=os.environ | environ)
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert sums == {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in folder.iterdir()
        if each.name != "SHA256SUMS"
    }
    (bill,) = folder.glob("*.cdx.json")
    parts = {part["name"].lower() for part in json.loads(bill.read_text())["components"]}
    assert {"flask", "sqlalchemy", "oslo.config"} <= parts
    assert not parts & {"pip", "pytest"}


def test_a_release_is_that_of_a_commit_in_a_folder_of_its_own(tmp_path):
    (tmp_path / "earlier").touch()
    command = [sys.executable, ROOT / "contrib/release/make_release.py", "--dirty", tmp_path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"release: {tmp_path} isn't empty\n")
