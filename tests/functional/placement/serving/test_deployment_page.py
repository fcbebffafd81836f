"""The deployment page's files and commands work."""

import re

import pytest

from placement import config
from placement.storage.database.engine import Database, DatabaseSettings
from tests.functional.placement.serving.page import PAGE, file_shown

CONFIGURATION = "/etc/placement/placement.conf"


@pytest.fixture
def configured(tmp_path):
    """Return a folder with the page's configuration file."""
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "placement.conf").write_text(file_shown(CONFIGURATION))
    return folder


def test_the_configuration_s_database_needs_what_the_page_installs(configured):
    conf = config.load(files=[str(configured / "placement.conf")], environ=False)
    database = Database(DatabaseSettings.of(conf.placement_database))
    assert database.engine.dialect.name == "postgresql"
    assert conf.oslo_middleware.enable_proxy_headers_parsing is True


def test_the_table_of_bounds_has_the_defaults(configured):
    conf = config.load(files=[str(configured / "placement.conf")], environ=False)
    rows = re.findall(r"^``\[(\w+)\](\w+)`` +(-?\d+) ", PAGE.read_text(), re.M)
    assert len(rows) == 3
    for group, option, default in rows:
        assert conf[group][option] == int(default), option
