"""What the service says when its own user in [keystone_authtoken] isn't right."""

import pytest

from tests.keystone.cloud import SERVICE_PASSWORD, options, start_ours, start_reference
from tests.keystone.identity import DEFAULT

LOGIN = "doesn't let user {} log in to project {}. Check its name, domain and password"
#: options, and what the service logs
WRONG = {
    "password": ({"password": "wrong"}, LOGIN.format("placement", "service")),
    "name": ({"username": "nobody"}, LOGIN.format("nobody", "service")),
    "domain": ({"user_domain_id": "nowhere"}, LOGIN.format("placement", "service")),
    "project": ({"project_name": "nowhere"}, LOGIN.format("placement", "nowhere")),
    "no role": ({"username": "roleless"}, LOGIN.format("roleless", "service")),
    "wrong role": (
        {"username": "only-member"},
        "doesn't let user only-member validate tokens. Give it the role service in project service",
    ),
    "region": (
        {"region_name": "Mars"},
        "can't be used: internal endpoint for identity service in Mars region not found",
    ),
}
#: for these the reference answers 500 (deviations.rst)
DEVIATIONS = {"region"}


@pytest.fixture(scope="module")
def users(identity):
    """Create users that lack a role."""
    identity.user("roleless", password=SERVICE_PASSWORD)
    only_member = identity.user("only-member", password=SERVICE_PASSWORD)
    project = identity.do("GET", f"/projects?name=service&domain_id={DEFAULT}")["projects"][0]
    identity.grant("member", only_member, project["id"])


@pytest.mark.parametrize("case", WRONG)
def test_the_log_says_what_is_wrong(start, tmp_path, identity, users, people, case):
    wrong, said = WRONG[case]
    token = people.token("admin")
    service = start_ours(start, tmp_path, **options(identity.url, **wrong))
    answers = [service.ask(token) for _ in range(2)]
    assert [answer.status for answer in answers] == [503, 503]
    log = service.server.said()
    # once, although it happened twice
    (line,) = [line for line in log.splitlines() if "[keystone_authtoken]: " in line]
    assert said in line
    assert "See doc/keystone.rst" in line
    assert "Traceback" not in log
    assert [secret for secret in (SERVICE_PASSWORD, token) if secret in log] == []


@pytest.mark.parametrize("case", ["password", "wrong role", "region"])
def test_the_reference_answers_the_same(
    start, tmp_path, identity, users, people, reference_interpreter, case
):
    token = people.token("admin")
    chosen = options(identity.url, **WRONG[case][0])
    ours = start_ours(start, tmp_path, **chosen).ask(token)
    theirs = start_reference(start, tmp_path, reference_interpreter, **chosen).ask(token)
    if case in DEVIATIONS:
        assert (ours.status, theirs.status) == (503, 500)
    else:
        assert ours == theirs


def test_a_region_with_an_identity_endpoint_is_found(start, tmp_path, identity, people):
    identity.region("Venus")
    (keystone,) = identity.do("GET", "/services?type=identity")["services"]
    identity.endpoint(keystone["id"], identity.url, "internal", "Venus")
    chosen = options(identity.url, region_name="Venus")
    assert start_ours(start, tmp_path, **chosen).status(people.token("admin")) == 200


def test_the_service_works_again_when_its_user_has_the_role(start, tmp_path, identity, people):
    project, user = identity.project("later"), identity.user("later", password=SERVICE_PASSWORD)
    chosen = options(identity.url, username="later", project_name="later")
    service = start_ours(start, tmp_path, **chosen)
    token = people.token("admin")
    before = service.status(token)
    identity.grant("service", user, project)
    assert (before, service.status(token)) == (503, 200)
    assert "Keystone validates tokens again." in service.server.said()
