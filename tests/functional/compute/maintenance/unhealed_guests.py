"""Guests that heal_allocations has to heal, and the network that knows their ports."""

import contextlib

from compute.records.instance import Flavor, Instance
from tests.functional.compute.maintenance.network import Network, serving
from tests.functional.compute.maintenance.site import HOST

BANDWIDTH = "NET_BW_EGR_KILOBIT_PER_SEC"
PORT = "00000000-0000-0000-0000-000000000001"


@contextlib.contextmanager
def serving_site(site):
    """Serve a network to the site's commands."""
    network = Network()
    with serving(network) as described:
        site.configure(more=described)
        yield network


def unhealed(site, root, network, count, with_port):
    """Return instances without allocations; the one of that number has a port without, too."""
    with site.placement() as outsider:
        outsider.provider("card", root, {BANDWIDTH: {"total": 5000}}, ["CUSTOM_PHYSNET_A"])
    owner = {"project_id": "somebody", "user_id": "somebody"}
    guests = [
        Instance(host=HOST, node=HOST, flavor=Flavor(vcpus=1), created_at=float(created), **owner)
        for created in range(1, count + 1)
    ]
    with site.cell() as cell:
        for guest in guests:
            cell.instances.create(guest)
    network.port(PORT, guests[with_port].uuid, {"resources": {BANDWIDTH: 1000}})
    return [guest.uuid for guest in guests]
