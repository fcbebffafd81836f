"""What tests do in keystone: create users and grants, and get tokens."""

from typing import Any

from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from tests.keystone.server import ADMIN_PASSWORD, REGION

PASSWORD = "a user's own password"
DEFAULT = "default"


class Identity:
    """The identity API at a URL, used by the cloud's administrator.

    Names are unique in a domain; every user has PASSWORD unless a test says otherwise.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        administrator = v3.Password(
            url,
            username="admin",
            password=ADMIN_PASSWORD,
            user_domain_id=DEFAULT,
            project_name="admin",
            project_domain_id=DEFAULT,
        )
        self._session = Session(auth=administrator)

    def do(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed; return the JSON of its answer, or None."""
        sent = {} if body is None else {"json": body}
        answer = self._session.request(self.url + path, method, **sent)
        return answer.json() if answer.content else None

    def domain(self, name: str) -> str:
        """Create a domain; return its id."""
        return self._create("domain", name)

    def project(self, name: str, domain: str = DEFAULT) -> str:
        """Create a project; return its id."""
        return self._create("project", name, domain_id=domain)

    def user(self, name: str, domain: str = DEFAULT, password: str = PASSWORD) -> str:
        """Create a user; return its id."""
        return self._create("user", name, domain_id=domain, password=password)

    def change(self, kind: str, id_: str, **fields: Any) -> None:
        """Change fields of a user, project or endpoint."""
        self.do("PATCH", f"/{kind}s/{id_}", {kind: fields})

    def grant(self, role: str, user: str, project: str) -> None:
        """Give a user a role in a project."""
        self.do("PUT", f"/projects/{project}/users/{user}/roles/{self._role(role)}")

    def grant_in_domain(self, role: str, user: str, domain: str) -> None:
        """Give a user a role in a domain."""
        self.do("PUT", f"/domains/{domain}/users/{user}/roles/{self._role(role)}")

    def grant_system(self, role: str, user: str) -> None:
        """Give a user a role in the whole system."""
        self.do("PUT", f"/system/users/{user}/roles/{self._role(role)}")

    def take(self, role: str, user: str, project: str) -> None:
        """Take a user's role in a project away."""
        self.do("DELETE", f"/projects/{project}/users/{user}/roles/{self._role(role)}")

    def endpoint(self, service: str, url: str, interface: str, region: str = REGION) -> None:
        """Add an endpoint of a service."""
        fields = {"service_id": service, "url": url, "interface": interface, "region_id": region}
        self.do("POST", "/endpoints", {"endpoint": fields})

    def settle(self) -> None:
        """Give the endpoints in the catalogue, which are all keystone's, this URL."""
        for endpoint in self.do("GET", "/endpoints")["endpoints"]:
            self.change("endpoint", endpoint["id"], url=self.url)

    def service(self, type_: str) -> str:
        """Create a service of a type; return its id."""
        return self.do("POST", "/services", {"service": {"name": type_, "type": type_}})["service"][
            "id"
        ]

    def region(self, name: str, **placement: str) -> None:
        """Add a region.

        :param placement: URLs of its placement service, by interface
        """
        self.do("POST", "/regions", {"region": {"id": name}})
        (service,) = self.do("GET", "/services?type=placement")["services"]
        for interface, url in placement.items():
            self.endpoint(service["id"], url, interface, name)

    def revoke(self, token: str) -> None:
        """Revoke a token."""
        self._session.delete(f"{self.url}/auth/tokens", headers={"X-Subject-Token": token})

    def _role(self, name: str) -> str:
        return self.do("GET", f"/roles?name={name}")["roles"][0]["id"]

    def _create(self, kind: str, name: str, **fields: Any) -> str:
        return self.do("POST", f"/{kind}s", {kind: {"name": name, **fields}})[kind]["id"]


def issued(url: str, user: str, password: str = PASSWORD, **scope: Any) -> str:
    """Return a token of the user with this id.

    :param scope: `project_id`, `domain_id`, `system_scope` or `unscoped`, as keystoneauth has them
    """
    auth = v3.Password(url, user_id=user, password=password, **scope)
    return auth.get_token(Session())
