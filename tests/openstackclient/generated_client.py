"""What a program does with a client that was made from the document; it gets the service's URL.

It lists providers, claims what a search found, and moves inventory to a provider below.
"""

import sys

from placement_client import AuthenticatedClient
from placement_client.api.allocation_candidates import allocation_candidates_list_all as search
from placement_client.api.allocations import allocations_list_of_consumer as consumer
from placement_client.api.allocations import allocations_replace as claim
from placement_client.api.claims import claims_create as claim_at_once
from placement_client.api.inventories import inventories_replace as inventories
from placement_client.api.reshaper import reshaper_reshape as reshape
from placement_client.api.resource_providers import resource_providers_create as create
from placement_client.api.resource_providers import resource_providers_list_all as providers
from placement_client.models.allocations_replace_request import AllocationsReplaceRequest
from placement_client.models.claims_create_request import ClaimsCreateRequest
from placement_client.models.inventories_replace_conflict import InventoriesReplaceConflict
from placement_client.models.inventories_replace_request import InventoriesReplaceRequest
from placement_client.models.reshaper_reshape_request import ReshaperReshapeRequest
from placement_client.models.resource_providers_create_request import (
    ResourceProvidersCreateRequest,
)

HOST = "11111111-1111-4111-8111-111111111111"
CARD = "22222222-2222-4222-8222-222222222222"
FIRST = "33333333-3333-4333-8333-333333333333"
SECOND = "44444444-4444-4444-8444-444444444444"
OWNER = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}

client = AuthenticatedClient(
    base_url=sys.argv[1], token="admin", prefix="", auth_header_name="X-Auth-Token"
)

for uuid, name, parent in ((HOST, "host", None), (CARD, "card", HOST)):
    body = {"uuid": uuid, "name": name, "parent_provider_uuid": parent}
    create.sync(client=client, body=ResourceProvidersCreateRequest.from_dict(body))
stock = {"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 2}}}
wanted = InventoriesReplaceRequest.from_dict(stock)
print(inventories.sync(HOST, client=client, body=wanted).inventories["VGPU"].total, "VGPU")
# the same generation again
again = inventories.sync(HOST, client=client, body=wanted)
assert isinstance(again, InventoriesReplaceConflict), again
print(again.errors[0].code.value)

print(*[provider.name for provider in providers.sync(client=client).resource_providers])

found = search.sync(client=client, resources="VGPU:1", limit=1)
request = found.allocation_requests[0].to_dict()
body = request | OWNER | {"consumer_generation": None}
done = claim.sync_detailed(FIRST, client=client, body=AllocationsReplaceRequest.from_dict(body))
print("claimed", done.status_code.value)
body = {"query": "resources=VGPU:1", "consumers": [{"uuid": SECOND} | OWNER]}
claimed = claim_at_once.sync(client=client, body=ClaimsCreateRequest.from_dict(body))
print("claimed", *claimed.consumers[SECOND].allocations.additional_properties)

moved = {}
for uuid in (FIRST, SECOND):
    held = consumer.sync(uuid, client=client).to_dict()
    resources = held["allocations"][HOST]["resources"]
    moved[uuid] = held | {"allocations": {CARD: {"resources": resources}}, "mappings": {"": [CARD]}}
generations = {p.uuid: p.generation for p in providers.sync(client=client).resource_providers}
body = {
    "inventories": {
        HOST: {"resource_provider_generation": generations[HOST], "inventories": {}},
        CARD: {
            "resource_provider_generation": generations[CARD],
            "inventories": {"VGPU": {"total": 2}},
        },
    },
    "allocations": moved,
}
done = reshape.sync_detailed(client=client, body=ReshaperReshapeRequest.from_dict(body))
print("reshaped", done.status_code.value)
print(*consumer.sync(FIRST, client=client).allocations.additional_properties)
