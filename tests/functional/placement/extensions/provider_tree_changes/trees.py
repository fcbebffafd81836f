"""Bodies of writes of whole trees, about the cloud of `small_cloud.fill`."""

from tests.functional.placement.small_cloud import CHILD, EMPTY, ROOT, numbered

FRESH, FRESHER = numbered("a", 71), numbered("a", 72)
#: generations of its providers
AT = {ROOT: 5, CHILD: 2, EMPTY: 0}
HELD = {ROOT: {"VCPU": 4, "DISK_GB": 10}}


def put(service, root=ROOT, version="1.39", **body):
    return service.request("PUT", f"/berth/v1/provider_trees/{root}", body, version)


def provider(uuid, **more):
    """Return a provider that exists, with what is to change."""
    return {uuid: {"generation": AT[uuid], **more}}


def new(uuid=FRESH, name="fresh", parent=ROOT, **more):
    return {uuid: {"generation": None, "name": name, "parent_provider_uuid": parent, **more}}


def done(response):
    assert response.status_code == 200, response.text
    return response.json["generations"]
