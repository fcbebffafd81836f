"""oslo-config-validator with the file and the options of deployment.rst."""

import re
import shlex
import subprocess
import sysconfig
import textwrap
from pathlib import Path

from tests.page_code import PLACE, text_of


def validated(folder, text):
    """Run the page's command on a file with this text; return exit code and output."""
    (folder / "placement.conf").write_text(text)
    command = re.search(
        rf"^ +{PLACE}/(oslo-config-validator(?:.*\\\n)*.*)$", text_of("deployment.rst"), re.M
    )[1]
    program, *options = shlex.split(
        command.replace("\\\n", " ").replace("/etc/placement", str(folder))
    )
    ended = subprocess.run(
        [Path(sysconfig.get_path("scripts")) / program, *options], capture_output=True, text=True
    )
    return ended.returncode, ended.stdout + ended.stderr


def shown():
    """Return the file that the page shows."""
    block = re.search(r"^``/etc/placement/placement.conf``::\n\n((?: {4}.*\n|\n)+)", PAGE, re.M)[1]
    return textwrap.dedent(block)


PAGE = text_of("deployment.rst")


def test_the_page_s_file_is_valid(tmp_path):
    assert validated(tmp_path, shown()) == (0, "")


def test_a_name_that_is_misspelt_is_told(tmp_path):
    code, said = validated(tmp_path, shown().replace("auth_strategy", "auth_strategi"))
    assert (code, "api/auth_strategi is not part of the sample config" in said) == (1, True)
