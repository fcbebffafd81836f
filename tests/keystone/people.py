"""The users and projects of a small cloud, and the kinds of tokens that they can get."""

import dataclasses
from collections.abc import Callable

from tests.keystone.identity import PASSWORD, Identity, issued


@dataclasses.dataclass(frozen=True)
class People:
    """Users and projects by name, as ids.

    The users are called after their role. `far` is the domain of the user `far`, whose project has
    the same name as the project `demo` of the others.
    """

    identity: Identity
    users: dict[str, str]
    projects: dict[str, str]
    domain: str

    @classmethod
    def settle(cls, identity: Identity) -> "People":
        """Create them in keystone."""
        projects = {name: identity.project(name) for name in ("demo", "other")}
        users = {}
        for role in ("admin", "service", "manager", "member", "reader"):
            users[role] = identity.user(f"the-{role}")
            identity.grant(role, users[role], projects["demo"])
        for role in ("admin", "reader"):
            identity.grant_system(role, users[role])
        domain = identity.domain("far")
        projects["far"] = identity.project("demo", domain)
        users["far"] = identity.user("the-reader", domain)
        identity.grant("reader", users["far"], projects["far"])
        identity.grant_in_domain("admin", users["admin"], domain)
        return cls(identity, users, projects, domain)

    def token(self, user: str, project: str = "demo") -> str:
        """Return a new token of a user for a project."""
        return issued(
            self.identity.url, self.users[user], PASSWORD, project_id=self.projects[project]
        )

    def newcomer(self, name: str, role: str = "admin") -> tuple[str, str]:
        """Create a user and a project for one test; return their ids."""
        project = self.identity.project(name)
        user = self.identity.user(name)
        self.identity.grant(role, user, project)
        return user, project

    def kinds(self) -> dict[str, Callable[[], str]]:
        """Return how to get a token of each kind."""
        url, users = self.identity.url, self.users
        return {
            **{
                f"project {role}": lambda role=role: self.token(role)
                for role in ("admin", "service", "manager", "member", "reader")
            },
            "system admin": lambda: issued(url, users["admin"], system_scope="all"),
            "system reader": lambda: issued(url, users["reader"], system_scope="all"),
            "domain admin": lambda: issued(url, users["admin"], domain_id=self.domain),
            "unscoped": lambda: issued(url, users["admin"], unscoped=True),
            "far reader": lambda: self.token("far", "far"),
        }
