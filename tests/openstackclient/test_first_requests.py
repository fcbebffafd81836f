"""What the README has a newcomer type with `openstack`."""

from tests import readme_commands
from tests.functional.placement.serving.programs import needed


def test_the_requests_with_openstack_allocate_from_a_new_provider(tmp_path):
    needed("openstack", "python-openstackclient and osc-placement")
    commands = readme_commands.commands_beginning("export OS_AUTH_TYPE")
    with readme_commands.service_in(tmp_path) as url:
        said = readme_commands.run(commands, url)
    assert "| name                 | host2 " in said
    used = said.splitlines()[-6:]
    assert any(line.split() == ["|", "VCPU", "|", "2", "|"] for line in used)
    assert any(line.split() == ["|", "MEMORY_MB", "|", "1024", "|"] for line in used)
