"""The values for deployment tools set options that exist."""

import configparser
import re
import subprocess

import pytest
import yaml
from oslo_config import cfg

from placement import config
from tests.contrib.files import CONTRIB, text_of
from tests.contrib.users import PLACEMENT
from tests.functional.placement.serving.programs import needed

CHART = "openstack-helm/placement.yaml"
GLOBALS = "kolla-ansible/globals.yml"


def checked(options, tmp_path):
    """Have the service read these options, `{group: {option: value}}`; fail at an unknown one."""
    path = tmp_path / "placement.conf"
    lines = [f"[{group}]\n" for group in options]
    for number, values in enumerate(options.values()):
        lines[number] += "".join(f"{name} = {value}\n" for name, value in values.items())
    path.write_text("".join(lines))
    connection = {("placement_database", "connection"): "sqlite://"}
    conf = config.load(files=[str(path)], environ=False, overrides=connection)
    for group, values in options.items():
        for name, value in values.items():
            # raises if the group has no such option, or the value isn't one of its values
            assert str(conf[group][name]).lower() in (str(value).lower(), f"{value}.0"), name


def sections(text):
    read = configparser.ConfigParser(interpolation=None, strict=True)
    read.read_string(text)
    return {name: dict(read[name]) for name in read.sections()}


def test_an_unknown_option_is_noticed(tmp_path):
    with pytest.raises(cfg.NoSuchOptError):
        checked({"placement": {"max_candidates": 1}}, tmp_path)


def test_the_chart_s_options_exist(tmp_path):
    checked(yaml.safe_load(text_of(CHART))["conf"]["placement"], tmp_path)


def test_the_chart_s_uwsgi_options_exist_and_are_those_of_our_ini():
    ours = yaml.safe_load(text_of(CHART))["conf"]["placement_api_uwsgi"]["uwsgi"]
    help_text = subprocess.run(
        [needed("uwsgi", "pyuwsgi"), "--help"], capture_output=True, text=True, check=True
    ).stdout
    known = set(re.findall(r"--([\w-]+)", help_text))
    assert set(ours) - known == set()
    ini = text_of("uwsgi/placement-api-uwsgi.ini").lower()
    same = {name: str(value).lower() for name, value in ours.items() if name != "wsgi-file"}
    assert [name for name, value in same.items() if f"\n{name} = {value}\n" not in ini] == []


def test_the_chart_s_image_and_user_are_those_of_the_container():
    values = yaml.safe_load(text_of(CHART))
    assert values["pod"]["security_context"]["placement"]["pod"]["runAsUser"] == PLACEMENT
    file = text_of("container/Containerfile")
    # what the chart's uWSGI loads is in the environment that the image links to
    assert "ln -s kolla/venv /var/lib/openstack" in file
    assert f"--uid {PLACEMENT}" in file
    image = {name.rpartition(":")[0] for name in values["images"]["tags"].values()}
    assert image == {
        yaml.safe_load(text_of(GLOBALS))["placement_api_image_full"].rpartition(":")[0]
    }


def test_images_have_the_version_of_this_distribution():
    version = re.search(r"^version = (\S+)", (CONTRIB.parent / "setup.cfg").read_text(), re.M)[1]
    shown = re.findall(r"placement-api:(\S+)", text_of(CHART) + text_of(GLOBALS))
    assert set(shown) == {version}


def test_kolla_ansible_s_options_exist(tmp_path):
    checked(sections(text_of("kolla-ansible/placement.conf")), tmp_path)
    assert yaml.safe_load(text_of(GLOBALS))["placement_wsgi_provider"] == "uwsgi"


def test_devstack_s_options_exist(tmp_path):
    local, found, placement = text_of("devstack/local.conf").partition(
        "[[post-config|$PLACEMENT_CONF]]\n"
    )
    assert found
    checked(sections(placement), tmp_path)
    # devstack reads this part as shell
    _, _, localrc = local.partition("[[local|localrc]]\n")
    shell = f"enable_service() {{ test $# -gt 0; }}\n{localrc}"
    subprocess.run(["bash", "-eu", "-c", shell], check=True)


def test_shellcheck_accepts_devstack_s_script():
    path = CONTRIB / "devstack" / "local.sh"
    command = [needed("shellcheck", "shellcheck"), str(path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "")
