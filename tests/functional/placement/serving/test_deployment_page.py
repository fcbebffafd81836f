"""The deployment page's files and commands work."""

import pytest

from placement import config
from placement.storage.engine import Database, DatabaseSettings
from tests.functional.placement.serving.page import file_shown

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
