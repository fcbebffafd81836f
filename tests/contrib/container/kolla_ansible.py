"""What kolla-ansible itself writes for the container, with the files of contrib/kolla-ansible."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.contrib.files import text_of
from tests.functional.placement.serving.programs import needed

#: a cloud that is this machine; nothing outside of the folder is written
CLOUD = """
kolla_base_distro: debian
kolla_internal_vip_address: 127.0.0.1
network_interface: lo
neutron_external_interface: lo
node_config_directory: {folder}/written
node_custom_config: {folder}/given/config
"""


def written(folder: Path) -> Path:
    """Have kolla-ansible write its files in the folder; return the one for the container."""
    program = Path(needed("kolla-ansible", "kolla-ansible"))
    share = program.parents[1] / "share" / "kolla-ansible"
    given = folder / "given"
    shutil.copytree(share / "etc_examples" / "kolla", given)
    given.joinpath("config").mkdir()
    given.joinpath("config/placement.conf").write_text(text_of("kolla-ansible/placement.conf"))
    ours = CLOUD.format(folder=folder) + text_of("kolla-ansible/globals.yml")
    with given.joinpath("globals.yml").open("a") as globals_file:
        globals_file.write(ours)
    run = ["--configdir", str(given), "--inventory", str(share / "ansible/inventory/all-in-one")]
    # what isn't about placement's own container needs files of other containers
    only = ["--tags", "placement", "--skip-tags", "loadbalancer"]
    with_python = ["--extra-vars", f"ansible_python_interpreter={sys.executable}"]
    for command in (
        [program.with_name("kolla-genpwd"), "--passwords", given / "passwords.yml"],
        [program, "genconfig", *run, *only, *with_python],
    ):
        done = subprocess.run(
            command,
            env=os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": folder},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return folder / "written" / "placement-api"
