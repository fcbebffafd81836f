"""contrib/container/kolla_set_configs: files of config.json are copied, compared or refused."""

import getpass
import grp
import json
import os
import subprocess
import sys

import pytest

from tests.contrib.files import CONTRIB
from tests.functional.placement.serving.programs import needed

SCRIPT = CONTRIB / "container" / "kolla_set_configs"


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "config_files"
    folder.mkdir()
    (folder / "placement.conf").write_text("[DEFAULT]\n")
    return folder


@pytest.fixture
def run(tmp_path, files):
    """Return a function that writes config.json and runs the script."""

    def run(config, *arguments, **environ):
        path = files / "config.json"
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        root = ["--root", str(tmp_path / "root")]
        return subprocess.run(
            [sys.executable, str(SCRIPT), *root, *arguments],
            env=os.environ | {"KOLLA_CONFIG_FILE": str(path)} | environ,
            capture_output=True,
            text=True,
        )

    return run


def entry(files, **more):
    group = grp.getgrgid(os.getgid()).gr_name
    owner = f"{getpass.getuser()}:{group}"
    source = str(files / "placement.conf")
    dest = "/etc/placement/placement.conf"
    return {"source": source, "dest": dest, "owner": owner, "perm": "0600"} | more


def test_a_file_is_copied_with_its_mode(run, files, tmp_path):
    ran = run({"config_files": [entry(files, perm="0640")]})
    assert (ran.returncode, ran.stderr) == (0, "")
    copied = tmp_path / "root/etc/placement/placement.conf"
    assert (copied.read_text(), copied.stat().st_mode & 0o777) == ("[DEFAULT]\n", 0o640)


def test_a_folder_and_a_pattern_are_copied_with_all_in_them(run, files, tmp_path):
    (files / "policies" / "deep").mkdir(parents=True)
    (files / "policies" / "deep" / "a.yaml").write_text("a")
    folder = entry(files, source=f"{files}/policies", dest="/etc/placement/")
    pattern = entry(files, source=f"{files}/*.conf", dest="/etc/placement/placement.conf.d/")
    assert run({"config_files": [folder, pattern]}).returncode == 0
    etc = tmp_path / "root/etc/placement"
    assert (etc / "policies/deep/a.yaml").read_text() == "a"
    assert (etc / "placement.conf.d/placement.conf").exists()


def test_check_sees_a_change_and_makes_none(run, files, tmp_path):
    config = {"config_files": [entry(files)]}
    assert run(config, "--check").returncode == 1
    assert not (tmp_path / "root").exists()
    run(config)
    assert run(config, "--check").returncode == 0
    (files / "placement.conf").write_text("[api]\n")
    assert run(config, "--check").returncode == 1


def test_copy_once_copies_at_the_first_start_only(run, files, tmp_path):
    once = {"KOLLA_CONFIG_STRATEGY": "COPY_ONCE"}
    config = {"config_files": [entry(files)]}
    run(config, **once)
    (files / "placement.conf").write_text("[api]\n")
    run(config, **once)
    copied = tmp_path / "root/etc/placement/placement.conf"
    assert copied.read_text() == "[DEFAULT]\n"
    run(config)
    assert copied.read_text() == "[api]\n"


def test_the_command_is_printed(run):
    ran = run({"command": "uwsgi --ini /etc/placement/uwsgi.ini"}, "--command")
    assert ran.stdout == "uwsgi --ini /etc/placement/uwsgi.ini\n"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{", "Expecting property name"),
        ({"config_files": [{"source": "/gone", "dest": "/a"}]}, "/gone is missing"),
        ({"config_files": [{"source": "/a", "dest": "/a", "exclude": []}]}, "exclude is not supp"),
    ],
)
def test_a_wrong_file_is_refused_and_nothing_is_copied(run, tmp_path, config, said):
    ran = run(config)
    assert (ran.returncode, said in ran.stderr, (tmp_path / "root").exists()) == (2, True, False)


def test_an_optional_file_may_be_missing(run):
    missing = {"source": "/gone", "dest": "/a", "optional": True}
    assert run({"config_files": [missing]}).returncode == 0


def test_an_unknown_strategy_is_refused(run, files):
    ran = run({"config_files": [entry(files)]}, KOLLA_CONFIG_STRATEGY="COPY_NEVER")
    assert (ran.returncode, "COPY_NEVER" in ran.stderr) == (2, True)


@pytest.mark.parametrize("name", ["kolla_start", "make_base", "healthcheck_curl"])
def test_shellcheck_accepts_the_script(name):
    path = CONTRIB / "container" / name
    ran = subprocess.run(
        [needed("shellcheck", "shellcheck"), str(path)], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, "")
    assert path.stat().st_mode & 0o111 == 0o111
