"""The service starts with every way in which operators configure keystone, with a page or without.

No keystone answers here: a service must start before its keystone does.
"""

import json

import pytest
import requests

from placement import config
from placement.app import start
from tests.gabbi import services
from tests.wsgi_transport import WSGITransport

URL = "http://placement.test"
#: nobody listens there
PUBLIC = "http://127.0.0.1:1/identity/v3"
INTERNAL = "http://127.0.0.1:2/v3"
ACCOUNT = {
    "username": "placement",
    "password": "secret",
    "project_name": "service",
    "user_domain_name": "Default",
    "project_domain_name": "Default",
}
PASSWORD = {"auth_type": "password", "auth_url": INTERNAL} | ACCOUNT
KOLLA = PASSWORD | {
    "service_type": "placement",
    "user_domain_id": "default",
    "project_domain_id": "default",
    "cafile": "",
    "region_name": "RegionOne",
    "service_token_roles_required": "True",
}
CREDENTIAL = {
    "auth_type": "v3applicationcredential",
    "auth_url": INTERNAL,
    "application_credential_id": "an id",
    "application_credential_secret": "secret",
}
#: name → options of [keystone_authtoken], options of other sections, where a browser logs in
CONFIGURATIONS = {
    "nothing": ({}, {}, None),
    "only the address for clients": ({"www_authenticate_uri": PUBLIC}, {}, PUBLIC),
    "only an address to log in at": ({"auth_url": INTERNAL}, {}, None),
    "the readme's": (PASSWORD, {}, INTERNAL),
    "the installation guide's": (
        PASSWORD | {"www_authenticate_uri": PUBLIC, "memcached_servers": "127.0.0.1:1"},
        {},
        PUBLIC,
    ),
    "kolla's": (KOLLA | {"www_authenticate_uri": PUBLIC}, {}, PUBLIC),
    "kolla's, with memcached": (
        KOLLA
        | {
            "www_authenticate_uri": PUBLIC,
            "memcache_security_strategy": "ENCRYPT",
            "memcache_secret_key": "secret",
            "memcached_servers": "127.0.0.1:1,127.0.0.1:2",
        },
        {},
        PUBLIC,
    ),
    "openstack-helm's": (
        PASSWORD | {"auth_version": "v3", "service_type": "placement", "region_name": "One"},
        {},
        INTERNAL,
    ),
    "openstack-ansible's": (
        PASSWORD
        | {
            "insecure": "False",
            "www_authenticate_uri": PUBLIC,
            "auth_uri": PUBLIC,
            "token_cache_time": "300",
            "user_domain_id": "default",
        },
        {},
        PUBLIC,
    ),
    "the charm's": (
        PASSWORD
        | {"auth_uri": PUBLIC, "signing_dir": "/var/cache/placement", "service_type": "placement"},
        {},
        INTERNAL,
    ),
    "devstack's": (
        PASSWORD
        | {"interface": "public", "cafile": "/nowhere.pem", "memcached_servers": "localhost:1"},
        {},
        INTERNAL,
    ),
    "tripleo's": (PASSWORD | {"auth_type": "v3password"}, {}, INTERNAL),
    "a section of its own": (
        {"auth_section": "service_auth"},
        {"service_auth": PASSWORD},
        INTERNAL,
    ),
    "a section that is missing": ({"auth_section": "service_auth"}, {}, None),
    "an application credential": (CREDENTIAL, {}, INTERNAL),
    "a token": ({"auth_type": "v3token", "auth_url": INTERNAL, "token": "secret"}, {}, INTERNAL),
    "an administrator's token": (
        {"auth_type": "admin_token", "endpoint": INTERNAL, "token": "secret"},
        {},
        None,
    ),
    "no authentication at keystone": ({"auth_type": "none", "endpoint": INTERNAL}, {}, None),
    "http basic": ({"auth_type": "http_basic", "endpoint": INTERNAL} | ACCOUNT, {}, None),
    "v2": (
        {"auth_type": "v2password", "auth_url": INTERNAL, "username": "p", "password": "secret"},
        {},
        INTERNAL,
    ),
    "decisions left to clients": (PASSWORD | {"delay_auth_decision": "true"}, {}, INTERNAL),
    "an empty address": (PASSWORD | {"www_authenticate_uri": ""}, {}, INTERNAL),
}


@pytest.fixture(params=["page", pytest.param("no page", marks=pytest.mark.thorough)])
def ui(request):
    return request.param == "page"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_service_starts_and_the_page_knows_where_to_log_in(tmp_path, name, ui):
    authtoken, others, address = CONFIGURATIONS[name]
    options = services.options_of(tmp_path, {})
    options["api"] = {"auth_strategy": "keystone"}
    options["berth"] = options.get("berth", {}) | {"ui": ui}
    options |= {"keystone_authtoken": authtoken} | others
    lines = []
    for group, settings in options.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in settings.items())]
    (tmp_path / "placement.conf").write_text("\n".join(lines))
    running = start(config.load(files=[str(tmp_path / "placement.conf")], environ=False))
    try:
        with requests.Session() as session:
            session.mount(URL, WSGITransport(running.application))
            assert session.get(f"{URL}/").status_code == 200
            if ui:
                answer = session.get(f"{URL}/berth/v1/ui/session.json")
                assert json.loads(answer.text)["keystone"] == address
    finally:
        running.close()
