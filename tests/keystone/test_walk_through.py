"""The commands of keystone.rst, as they stand there, from an empty keystone to an audited host."""

import os
import subprocess
import sysconfig

from tests.functional.placement.serving.page import file_shown
from tests.functional.placement.serving.programs import free_port, needed
from tests.page_code import files_of
from tests.patience import PATIENCE

PAGE = "keystone.rst"
COMMANDS = files_of(PAGE, "sh")
AGENT = "/etc/berth/berth-compute.conf"


class Page:
    """Runs the page's commands, with the addresses and folders of a test."""

    def __init__(self, programs, folder, keystone, placement):
        self._programs = programs
        self._folder = folder
        self._places = {
            "https://keystone.example/v3": keystone,
            "https://placement.example:8780/placement": placement,
            "/etc/berth": str(folder),
        }

    def placed(self, text):
        for shown, used in self._places.items():
            text = text.replace(shown, used)
        return text

    def run(self, name):
        """Run a block, which must succeed; return its output."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
        scripts = sysconfig.get_path("scripts")
        done = subprocess.run(
            ["bash", "-ec", self.placed(f"{COMMANDS['administrator']}{COMMANDS[name]}")],
            cwd=self._folder,
            env=plain
            | {
                "PATH": f"{self._programs}:{scripts}:{plain['PATH']}",
                "HOME": str(self._folder),
                "OS_DEFAULT__STATE_PATH": str(self._folder / "state"),
            },
            capture_output=True,
            text=True,
            timeout=10 * PATIENCE,
        )
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        return done.stdout + done.stderr


def test_the_page_s_commands_work_in_their_order(programs, empty_keystone, start, tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    page = Page(programs, tmp_path, empty_keystone.url, url)
    (tmp_path / "state").mkdir()
    (tmp_path / "placement.conf").write_text(
        page.placed(file_shown("/etc/placement/placement.conf"))
    )
    (tmp_path / "berth-compute.conf").write_text(page.placed(files_of(PAGE, "ini")[AGENT]))
    names = list(COMMANDS)
    assert names == [
        *("administrator", "the service's user", "the endpoint", "the agent's user"),
        *("check", "a reader", "the agent"),
    ]
    for name in names[1:4]:
        page.run(name)
    start(
        [needed("placement-api", "berth"), "--port", str(port)],
        url,
        OS_PLACEMENT_CONFIG_DIR=str(tmp_path),
        OS_API__AUTH_STRATEGY=None,
    )
    checked = page.run("check")
    assert "gAAAA" in checked
    assert "MEMORY_MB" in checked
    assert "VCPU" not in page.run("a reader")
    page.run("the agent")
    # the host is there now
    assert os.uname().nodename in page.run("check")
