"""Huge pages that the host keeps for itself."""

import pytest
from oslo_config import cfg

from compute.config import register
from compute.exceptions import InvalidConfiguration
from virt.node.kept_pages import kept_pages


def conf_of(tmp_path, *lines):
    conf = cfg.ConfigOpts()
    register(conf)
    file = tmp_path / "nova.conf"
    file.write_text("\n".join(["[DEFAULT]", *lines]))
    conf(["--config-file", str(file)])
    return conf


def test_pages_are_read_as_nova_reads_them(tmp_path):
    conf = conf_of(
        tmp_path,
        "reserved_huge_pages = node:0,size:2048,count:64",
        "reserved_huge_pages = node:1,size:1GB,count:1",
        "reserved_huge_pages = node:1,size:2M,count:3",
    )
    assert kept_pages(conf) == {(0, 2048): 64, (1, 1048576): 1, (1, 2048): 3}
    assert kept_pages(conf_of(tmp_path)) == {}


@pytest.mark.parametrize(
    "line",
    [
        "node:0,count:3",
        "node:0,size:2T,count:3",
        "node:x,size:4,count:1",
        "node:0,size:4,count:-1",
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, line):
    with pytest.raises(InvalidConfiguration, match="reserved_huge_pages: can't read"):
        kept_pages(conf_of(tmp_path, f"reserved_huge_pages = {line}"))
