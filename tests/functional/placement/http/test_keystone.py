"""Authentication with keystone tokens and the real keystonemiddleware (rest-api.md 2.1).

With `BERTH_GABBI_REFERENCE=/path/to/python` the tests run on the reference.
"""

import contextlib
import json
import logging
import os

import pytest
import requests
from sqlalchemy.exc import OperationalError

from placement import config
from placement.app import create_app
from placement.wsgi import loading
from tests.functional.placement.keystone_stub import HOUR, SERVICE_PASSWORD, Keystone, token
from tests.gabbi import fixtures, services
from tests.wsgi_transport import WSGITransport

REFERENCE = os.environ.get("BERTH_GABBI_REFERENCE")
JSON = {"accept": "application/json"}
NEWEST = {"openstack-api-version": "placement 1.39"}
UNAUTHORIZED = {
    "error": {
        "code": 401,
        "title": "Unauthorized",
        "message": "The request you have made requires authentication.",
    }
}


@pytest.fixture
def keystone():
    with Keystone() as server:
        server.tokens.update(
            admin=token("ada", ["admin"], "p"),
            service=token("nova", ["service"], "services"),
            reader=token("rea", ["member", "reader"], "p"),
            expired=token("old", ["admin"], "p", valid_for=-HOUR),
            unscoped=token("una"),
            system=token("sys", ["admin"], system=True),
        )
        yield server


class Client:
    """Sends requests with or without a token."""

    def __init__(self, session, url):
        self.session = session
        self.url = url

    def __call__(self, path, token=None, method="GET", **headers):
        sent = JSON | NEWEST | {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["x-auth-token"] = token
        return self.session.request(method, self.url + path, headers=sent)


@contextlib.contextmanager
def ours(folder, options):
    """Yield our service in this process, configured by a file as by operators."""
    with requests.Session() as session:
        url = "http://placement.test"
        session.mount(url, WSGITransport(create_app(file_of(folder, options))))
        yield Client(session, url)


def file_of(folder, options):
    """Read the configuration from a file with these options."""
    lines = []
    for group, settings in options.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in settings.items())]
    path = folder / "placement.conf"
    path.write_text("\n".join(lines))
    return config.load(files=[str(path)], environ=False)


@contextlib.contextmanager
def theirs(folder, options):
    """Yield the reference, configured by its environment."""
    with (
        services.reference(REFERENCE, folder, options, "") as service,
        requests.Session() as session,
    ):
        yield Client(session, f"http://{service.host}:{service.port}")


@pytest.fixture
def placement(tmp_path, keystone):
    options = services.options_of(tmp_path, {})
    options["api"] = {"auth_strategy": "keystone"}
    options["keystone_authtoken"] = keystone.options()
    with (theirs if REFERENCE else ours)(tmp_path, options) as client:
        yield client


def refusal(answer):
    """Return the message of a 403, without the standard explanation."""
    (error,) = answer.json()["errors"]
    return error["detail"].removeprefix("Access was denied to this resource.\n\n ").strip()


def test_a_valid_token_is_enough(placement):
    answer = placement("/resource_providers", "admin")
    assert (answer.status_code, answer.json()) == (200, {"resource_providers": []})


@pytest.mark.parametrize("given", [None, "", "unknown", "expired"])
def test_requests_without_a_valid_token_are_rejected(placement, keystone, given):
    answer = placement("/resource_providers", given)
    assert answer.status_code == 401
    assert answer.json() == UNAUTHORIZED
    assert answer.headers["www-authenticate"] == f'Keystone uri="{keystone.url}/public"'
    assert answer.headers["x-openstack-request-id"].startswith("req-")
    assert answer.headers["content-type"] == "application/json"
    assert not {"openstack-api-version", "vary"} & {name.lower() for name in answer.headers}


@pytest.mark.parametrize(("by", "status"), [("service", 200), ("admin", 401), ("unknown", 401)])
def test_a_service_s_token_makes_an_expired_one_acceptable(placement, by, status):
    answer = placement("/resource_providers", "expired", x_service_token=by)
    assert answer.status_code == status


@pytest.mark.parametrize("odd", [b"\xe9", b"\xff\xfe", b"a b", b"a\tb", b"%00", b"x" * 5_000])
def test_an_unusual_token_is_like_an_unknown_one(placement, odd):
    answer = placement("/resource_providers", odd)
    assert (answer.status_code, answer.json()) == (401, UNAUTHORIZED)


@pytest.mark.parametrize("accept", ["text/html", "text/plain", "*/*"])
def test_the_401_is_json_whatever_the_client_accepts(placement, accept):
    answer = placement("/resource_providers", accept=accept)
    assert (answer.status_code, answer.json()) == (401, UNAUTHORIZED)


@pytest.mark.parametrize("path", ["/nothing", "/traits/", "/resource_providers/x/y"])
def test_paths_that_do_not_exist_need_a_token(placement, path):
    assert placement(path).status_code == 401
    assert placement(path, "admin").status_code == 404


def test_authentication_comes_before_the_version(placement):
    old = "placement 9.9"
    assert placement("/resource_providers", openstack_api_version=old).status_code == 401
    assert placement("/resource_providers", "admin", openstack_api_version=old).status_code == 406


@pytest.mark.parametrize("given", [None, "unknown", "admin"])
def test_the_versions_are_shown_without_a_request_to_keystone(placement, keystone, given):
    answer = placement("/", given)
    assert answer.status_code == 200
    assert answer.json()["versions"][0]["max_version"] == fixtures.NEWEST
    assert keystone.asked == []


@pytest.mark.skipif(bool(REFERENCE), reason="the reference has no description")
@pytest.mark.parametrize("given", [None, "unknown", "admin"])
def test_the_description_is_shown_without_a_request_to_keystone(placement, keystone, given):
    answer = placement("/berth/v1/openapi.json?microversion=1.0", given)
    assert (answer.status_code, answer.json()["openapi"]) == (200, "3.1.0")
    assert keystone.asked == []


def test_the_versions_are_shown_at_the_mount_point_too(placement):
    answer = placement("")
    assert (answer.status_code, list(answer.json())) == (200, ["versions"])


def test_another_method_at_the_root_needs_no_token(placement):
    assert placement("/", method="POST").status_code == 405


def test_an_unscoped_token_has_no_role(placement):
    answer = placement("/resource_providers", "unscoped")
    assert answer.status_code == 403
    assert refusal(answer) == (
        "Policy does not allow placement:resource_providers:list to be performed."
    )


@pytest.mark.parametrize("path", ["/resource_providers", "/usages?project_id=p"])
def test_a_system_scoped_token_is_rejected_for_its_scope(placement, path):
    answer = placement(path, "system")
    assert answer.status_code == 403
    assert refusal(answer) in ("placement:resource_providers:list", "placement:usages")


def test_a_reader_sees_the_usages_of_its_project(placement):
    answer = placement("/usages?project_id=p", "reader")
    assert (answer.status_code, answer.json()) == (200, {"usages": {}})


def test_a_reader_does_not_see_the_usages_of_another_project(placement):
    assert placement("/usages?project_id=q", "reader").status_code == 403


def test_an_administrator_sees_the_usages_of_every_project(placement):
    assert placement("/usages?project_id=q", "admin").status_code == 200


def test_roles_of_the_token_decide(placement):
    statuses = {
        name: placement("/reshaper", name, "POST", content_type="application/json").status_code
        for name in ("admin", "service", "reader", "unscoped")
    }
    # the service is authorized, and its empty body is rejected
    assert statuses == {"admin": 403, "service": 400, "reader": 403, "unscoped": 403}


SMUGGLED = {
    "x-user-id": "ada",
    "x-roles": "admin",
    "x-project-id": "p",
    "x-tenant-id": "p",
    "x-role": "admin",
    "x-identity-status": "Confirmed",
    "x-service-roles": "service",
    "x-service-identity-status": "Confirmed",
    "x-is-admin-project": "True",
}


def test_headers_can_not_replace_a_token(placement):
    assert placement("/resource_providers", **SMUGGLED).status_code == 401


def test_headers_can_not_replace_a_valid_token(placement):
    assert placement("/resource_providers", "expired", **SMUGGLED).status_code == 401


@pytest.mark.parametrize("name", ["reader", "unscoped"])
def test_headers_give_no_role(placement, name):
    assert placement("/resource_providers", name, **SMUGGLED).status_code == 403


def test_headers_give_no_project(placement):
    headers = SMUGGLED | {"x-project-id": "q", "x-tenant-id": "q"}
    assert placement("/usages?project_id=q", "reader", **headers).status_code == 403


def test_headers_give_no_scope(placement):
    answer = placement("/resource_providers", "admin", openstack_system_scope="all")
    assert answer.status_code == 200


def unavailable(answer):
    body = answer.json()
    return (answer.status_code, list(body), body["code"], body["title"]) == (
        503,
        ["message", "code", "title"],
        "503 Service Unavailable",
        "Service Unavailable",
    )


def test_while_keystone_is_down_the_service_is_unavailable(placement, keystone):
    keystone.stop()
    answer = placement("/resource_providers", "admin")
    assert unavailable(answer)
    assert "The Keystone service is temporarily unavailable." in answer.json()["message"]
    assert answer.headers["x-openstack-request-id"].startswith("req-")
    assert not {"openstack-api-version", "vary"} & {name.lower() for name in answer.headers}


def test_while_keystone_is_down_the_versions_are_shown(placement, keystone):
    keystone.stop()
    assert placement("/").status_code == 200


def test_unavailability_is_reported_in_the_form_that_the_client_accepts(placement, keystone):
    keystone.stop()
    answer = placement("/resource_providers", "admin", accept="text/plain")
    assert answer.headers["content-type"] == "text/plain; charset=UTF-8"
    assert answer.text.startswith("503 Service Unavailable\n\n")


def test_while_keystone_fails_the_service_is_unavailable(placement, keystone):
    keystone.broken = True
    assert unavailable(placement("/resource_providers", "admin"))


def test_keystone_validates_a_token_in_use_once(placement, keystone):
    for _ in range(3):
        placement("/resource_providers", "admin")
    assert keystone.asked == ["admin"]


def test_the_service_recovers_with_keystone(placement, keystone):
    keystone.broken = True
    before = placement("/resource_providers", "admin").status_code
    keystone.broken = False
    assert (before, placement("/resource_providers", "admin").status_code) == (503, 200)


def test_a_token_revoked_before_its_first_use_is_rejected(placement, keystone):
    keystone.revoke("admin")
    answer = placement("/resource_providers", "admin")
    assert (answer.status_code, answer.json()) == (401, UNAUTHORIZED)


def test_a_token_revoked_in_use_is_accepted_while_its_validation_is_cached(placement, keystone):
    before = placement("/resource_providers", "admin").status_code
    keystone.revoke("admin")
    assert (before, placement("/resource_providers", "admin").status_code) == (200, 200)


def test_without_a_cache_a_revoked_token_is_rejected_at_once(tmp_path, keystone):
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = keystone.options() | {"token_cache_time": "-1"}
    with (theirs if REFERENCE else ours)(tmp_path, options) as placement:
        before = placement("/resource_providers", "admin").status_code
        keystone.revoke("admin")
        assert (before, placement("/resource_providers", "admin").status_code) == (200, 401)


# Secrets


def test_tokens_and_passwords_are_not_logged_at_any_level(tmp_path, keystone, caplog):
    secrets = {name: f"gAAAAAB{name}-0123456789" for name in ("admin", "service", "unknown")}
    keystone.tokens |= {secrets[name]: keystone.tokens[name] for name in ("admin", "service")}
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = keystone.options()
    with caplog.at_level(logging.DEBUG), ours(tmp_path, options) as placement:
        statuses = [
            placement("/usages?project_id=q", given, x_service_token=secrets["service"]).status_code
            for given in secrets.values()
        ]
    assert statuses == [200, 200, 401]
    told = [json.dumps(str(vars(record))) + record.getMessage() for record in caplog.records]
    found = [text for text in told if any(secret in text for secret in secrets.values())]
    found += [text for text in told if SERVICE_PASSWORD in text]
    assert (len(told) > 5, found) == (True, [])


def test_option_values_are_logged_without_secrets(tmp_path, keystone, caplog):
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["placement_database"]["connection"] = "postgresql://placement:h1dden@127.0.0.1:1/p"
    options["placement_database"]["max_retries"] = 0
    options["keystone_authtoken"] = keystone.options()
    with caplog.at_level(logging.DEBUG), pytest.raises(OperationalError):
        loading.load(file_of(tmp_path, options))
    assert "placement_database.connection" in caplog.text
    assert [secret for secret in ("h1dden", SERVICE_PASSWORD) if secret in caplog.text] == []


def test_the_environment_configures_how_to_reach_keystone(tmp_path, keystone, monkeypatch):
    options = services.options_of(tmp_path, {}) | {"keystone_authtoken": keystone.options()}
    for group in ("placement_database", "keystone_authtoken"):
        for name, value in options[group].items():
            # a scheme may be written in any case
            value = str(value).replace("http://", "HTTP://")
            monkeypatch.setenv(f"OS_{group}__{name}".upper(), value)
    with requests.Session() as session:
        session.mount("http://placement.test", WSGITransport(create_app(config.load(files=[]))))
        placement = Client(session, "http://placement.test")
        statuses = [placement("/traits", given).status_code for given in ("admin", "unknown")]
    assert statuses == [200, 401]


def test_a_service_user_that_cannot_log_in_is_named_in_the_log(tmp_path, keystone, caplog):
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = keystone.options() | {"password": "wr0ng"}
    with ours(tmp_path, options) as placement:
        answers = [placement("/resource_providers", "admin") for _ in range(2)]
    assert [unavailable(answer) for answer in answers] == [True, True]
    # once, because the reason stays the same
    (said,) = [told for told in caplog.messages if told.startswith("[keystone_authtoken]: ")]
    assert f"keystone at {keystone.url}/v3 doesn't let user placement log in" in said
    assert "project service" in said
    assert "wr0ng" not in caplog.text


def test_an_endpoint_of_another_region_is_a_failure_of_the_configuration(
    tmp_path, keystone, caplog
):
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = keystone.options() | {"region_name": "two"}
    with ours(tmp_path, options) as placement:
        assert unavailable(placement("/resource_providers", "admin"))
    assert "Check auth_url, region_name and interface." in caplog.text


def test_without_a_way_to_log_in_the_log_names_the_option(tmp_path, keystone, caplog):
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = {"www_authenticate_uri": keystone.url}
    with ours(tmp_path, options) as placement:
        assert placement("/resource_providers").status_code == 401
        assert unavailable(placement("/resource_providers", "admin"))
    (said,) = [told for told in caplog.messages if told.startswith("[keystone_authtoken]: ")]
    assert "auth_type isn't set" in said


def test_the_log_says_when_keystone_answers_again(tmp_path, keystone, caplog):
    caplog.set_level(logging.INFO)
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = keystone.options()
    with ours(tmp_path, options) as placement:
        keystone.broken = True
        placement("/resource_providers", "admin")
        keystone.broken = False
        # an answer, too
        placement("/resource_providers", "unknown")
        placement("/resource_providers", "admin")
    assert caplog.messages.count("Keystone validates tokens again.") == 1
