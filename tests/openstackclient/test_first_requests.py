"""What the README has a newcomer type with `openstack`."""

import shlex

from tests import readme_commands
from tests.openstackclient import programs

#: bash shows what it makes of each command, instead of running it, and what it exports
SHOWN = 'openstack() {{ printf "%q " openstack "$@"; echo; }}\n{}\nenv | grep ^OS_\n'


def test_the_requests_with_openstack_allocate_from_a_new_provider(openstack_program, tmp_path):
    commands = readme_commands.commands_beginning("export OS_AUTH_TYPE")
    said = []
    with readme_commands.service_in(tmp_path) as url:
        lines = readme_commands.run(SHOWN.format(commands), url).splitlines()
        settings = dict(line.split("=", 1) for line in lines if line.startswith("OS_"))
        for line in lines[: -len(settings)]:
            code, out, err = programs.run(line, settings, tmp_path)
            assert (code, err) == (0, ""), shlex.split(line)
            said += out.splitlines()
    assert any("| name                 | host2 " in line for line in said)
    used = said[-6:]
    assert any(line.split() == ["|", "VCPU", "|", "2", "|"] for line in used)
    assert any(line.split() == ["|", "MEMORY_MB", "|", "1024", "|"] for line in used)
