"""Claims, and what they got (extensions.md 4)."""

from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.candidates.request import CandidateRequest, Group
from placement.domain.consumer import UNCHECKED, ConsumerRequest
from placement.extensions.claims import claim_batch
from placement.extensions.claims.choice import Chooser
from placement.extensions.claims.claim_batch import ClaimBatch, Job
from placement.extensions.claims.operation import ClaimRequest
from tests.endless import endless
from tests.functional.placement.small_cloud import expect, numbered, stock
from tests.patience import PATIENCE

ONE_VCPU = CandidateRequest((Group("", {"VCPU": 1}),))
HOSTS = [numbered("a", number) for number in range(1, 5)]
DEVICES = [
    {"name": "host", "inventories": {"VCPU": {"total": 64}}},
    *(
        {
            "name": f"pf{number}",
            "parent": "host",
            "inventories": {"SRIOV_NET_VF": {"total": 8}},
            "traits": ["CUSTOM_NET_A"] if number % 2 else ["CUSTOM_NET_A", "CUSTOM_NET_B"],
        }
        for number in range(4)
    ),
]


def stocked(service):
    for number, uuid in enumerate(HOSTS):
        expect(service.post("/resource_providers", {"name": f"h{number}", "uuid": uuid}), 200)
        expect(service.put(f"/resource_providers/{uuid}/inventories", stock(0, VCPU=2)), 200)
    return service


def ask(service, *consumers, query="resources=VCPU:1", **more):
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    body = {"query": query, "consumers": [{"uuid": uuid, **owner} for uuid in consumers], **more}
    return service.post("/berth/v1/claims", body)


def joint_job(service, number, request=ONE_VCPU):
    """Return a claim that waits for a thread which makes several together."""
    live = LiveSnapshot(service.database)
    wanted = ConsumerRequest(numbered("c", number), "p", "u", UNCHECKED, "INSTANCE", {})
    return Job(ClaimRequest(service.database, live, Chooser.first(request), [wanted], endless))


def make_together(jobs):
    """Make what can be made in one write; nobody waits in a line."""
    ClaimBatch(jobs, lambda job, root: None, frozenset).run()


def stay_in_lines(monkeypatch):
    """Keep claims that wait for a tree in its line, however slow the machine is.

    One that waits for a second goes alone once, to read what its consumers hold. If the
    tree is free just then, it is made without the others of its line.
    """
    monkeypatch.setattr(claim_batch, "LOOK_AFTER", PATIENCE)


def got(response):
    """Return the hosts of the consumers, in their order."""
    found = expect(response, 200).json["consumers"].values()
    return [uuid for one in found for uuid in one["allocations"]]


def outcome(response):
    if response.status_code == 200:
        return 200
    return response.json["errors"][0]["code"]


def used(service):
    rows = service.ask(
        "SELECT p.uuid, sum(a.used) FROM allocations a "
        "JOIN resource_providers p ON p.id = a.resource_provider_id GROUP BY p.uuid"
    )
    return {uuid: int(amount) for uuid, amount in rows}
