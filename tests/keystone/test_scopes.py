"""What a token's roles and scope let its owner do, and that the reference answers the same."""

import pytest

#: the requests of each test, `{demo}` and so on are ids of projects
REQUESTS = (
    ("GET", "/resource_providers"),
    ("GET", "/usages?project_id={demo}"),
    ("GET", "/usages?project_id={other}"),
    ("GET", "/usages?project_id={far}"),
    ("PUT", "/traits/CUSTOM_KEYSTONE"),
    ("POST", "/reshaper"),
)

#: kind of token → statuses of REQUESTS
EXPECTED = {
    "project admin": (200, 200, 200, 200, 201, 403),
    # an empty body is no reshape: 400 tells that the caller may reshape
    "project service": (200, 200, 200, 200, 201, 400),
    "project manager": (403, 200, 403, 403, 403, 403),
    "project member": (403, 200, 403, 403, 403, 403),
    "project reader": (403, 200, 403, 403, 403, 403),
    "far reader": (403, 403, 403, 200, 403, 403),
    "system admin": (403,) * 6,
    "system reader": (403,) * 6,
    "domain admin": (403,) * 6,
    "unscoped": (403,) * 6,
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_roles_and_scope_decide(ours, reference, people, kind):
    token = people.kinds()[kind]()
    for service in (ours, reference):
        service.ask(people.token("admin"), "/traits/CUSTOM_KEYSTONE", "DELETE")
    answers = [
        [service.ask(token, path.format(**people.projects), method) for method, path in REQUESTS]
        for service in (ours, reference)
    ]
    assert tuple(answer.status for answer in answers[0]) == EXPECTED[kind]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "token", [None, "", "x", "gAAAAABgarbage", "x" * 300, "é"], ids=lambda token: repr(token)[:9]
)
def test_what_is_no_token_is_answered_401(ours, reference, identity, token):
    answers = [service.ask(token) for service in (ours, reference)]
    assert (answers[0].status, answers[0].challenge) == (401, f'Keystone uri="{identity.url}"')
    assert answers[0] == answers[1]
