"""A cloud built through the REST API, and candidates read from it by the providers' names."""

import json
import uuid
from collections import Counter

import os_resource_classes
import os_traits

from placement import config
from placement.app import create_app


class Service:
    """Our application, called directly.

    :param options: `{(group, option): value}`
    """

    def __init__(self, database, options=None):
        overrides = {
            ("placement_database", "connection"): database,
            ("placement_database", "sync_on_startup"): True,
            ("placement_database", "sqlite_synchronous"): False,
            ("api", "auth_strategy"): "noauth2",
            **(options or {}),
        }
        self.app = create_app(config.load(files=[], environ={}, overrides=overrides))

    def request(self, method, path, body=None, version="1.39", headers=None):
        """Status, headers (lower case) and parsed body of the answer."""
        path, _, query = path.partition("?")
        content = b"" if body is None else json.dumps(body).encode()
        environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "placement.test",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_X_AUTH_TOKEN": "admin",
            "HTTP_X_ROLES": "admin,service",
            "HTTP_OPENSTACK_API_VERSION": f"placement {version}",
            "wsgi.url_scheme": "http",
            "wsgi.input": _Input(content),
        }
        if body is not None:
            environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(content))}
        environ |= headers or {}
        answer = {}

        def start_response(status, headers, exc_info=None):
            answer.update(status=int(status.split()[0]), headers={k.lower(): v for k, v in headers})

        chunks = self.app(environ, start_response)
        text = b"".join(chunks)
        getattr(chunks, "close", lambda: None)()
        return answer["status"], answer["headers"], json.loads(text) if text else None

    def write(self, method, path, body=None, version="1.39"):
        """Do a request that has to succeed."""
        status, _, answer = self.request(method, path, body, version)
        assert status < 300, (method, path, status, answer)
        return answer


class _Input:
    def __init__(self, content):
        self._content = content

    def read(self, size=-1):
        size = len(self._content) if size is None or size < 0 else size
        part, self._content = self._content[:size], self._content[size:]
        return part


class Cloud:
    """The providers and aggregates of a topology, by name."""

    def __init__(self, service):
        self.service = service
        self.uuids = {}
        self.aggregates = {}

    def build(self, topology, allocations=()):
        """Make the providers (parents first), then the allocations."""
        traits = {name for provider in topology for name in provider.get("traits", ())}
        classes = {name for provider in topology for name in provider.get("inventories", {})}
        for name in sorted(traits - set(os_traits.get_traits())):
            self.service.write("PUT", f"/traits/{name}")
        for name in sorted(classes - set(os_resource_classes.STANDARDS)):
            self.service.write("PUT", f"/resource_classes/{name}")
        for provider in topology:
            self._make(provider)
        for allocation in allocations:
            self._allocate(allocation)
        return self

    def _make(self, provider):
        key = self.uuids[provider["name"]] = str(uuid.uuid4())
        parent = provider.get("parent")
        body = {"name": provider["name"], "uuid": key}
        if parent:
            body["parent_provider_uuid"] = self.uuids[parent]
        self.service.write("POST", "/resource_providers", body)
        path, generation = f"/resource_providers/{key}", 0
        if provider.get("inventories"):
            body = {
                "inventories": provider["inventories"],
                "resource_provider_generation": generation,
            }
            answer = self.service.write("PUT", f"{path}/inventories", body)
            generation = answer["resource_provider_generation"]
        if provider.get("traits"):
            body = {
                "traits": sorted(set(provider["traits"])),
                "resource_provider_generation": generation,
            }
            answer = self.service.write("PUT", f"{path}/traits", body)
            generation = answer["resource_provider_generation"]
        if provider.get("aggregates"):
            labels = dict.fromkeys(provider["aggregates"])
            body = {
                "aggregates": [self.aggregate(label) for label in labels],
                "resource_provider_generation": generation,
            }
            self.service.write("PUT", f"{path}/aggregates", body)

    def _allocate(self, allocation):
        body = {
            "allocations": {
                self.uuids[name]: {"resources": resources}
                for name, resources in allocation["allocations"].items()
            },
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        self.service.write("PUT", f"/allocations/{uuid.uuid4()}", body)

    def aggregate(self, label):
        """The uuid behind an aggregate's label."""
        return self.aggregates.setdefault(label, str(uuid.uuid4()))

    def names(self):
        """Provider names by uuid."""
        return {key: name for name, key in self.uuids.items()}

    def candidates(self, body, version):
        """The answer's candidates as a multiset of (allocations, mappings), by provider names."""
        names = self.names()
        return Counter(read_candidate(request, names) for request in body["allocation_requests"])


def read_candidate(request, names):
    """One allocation request as hashable values, mappings None where there are none."""
    allocations = request["allocations"]
    if isinstance(allocations, list):
        pairs = [(a["resource_provider"]["uuid"], a["resources"]) for a in allocations]
    else:
        pairs = [(key, value["resources"]) for key, value in allocations.items()]
    taken = frozenset((names[key], frozenset(res.items())) for key, res in pairs)
    assert len(taken) == len(pairs)
    if "mappings" not in request:
        return taken, None
    mappings = frozenset(
        (suffix, frozenset(names[key] for key in keys))
        for suffix, keys in request["mappings"].items()
    )
    return taken, mappings
