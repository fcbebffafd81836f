"""What is to fit: the options of a query, or `--flavor`, what a flavor of nova asks for."""

import argparse
from typing import Any

from osc_lib import exceptions

from compute.maintenance.fitting import WantedResources, wanted_resources
from compute.osc import candidate_query
from compute.osc.exit_codes import refuse
from compute.records.instance import Flavor
from compute.requests.settings import Settings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    candidate_query.add_options(parser)
    parser.add_argument(
        "--flavor",
        metavar="<flavor>",
        help="A flavor of nova, by name or id, in place of the options above. Nova has filters "
        "of its own: it may refuse hosts that placement offers.",
    )


def wanted_of(client_manager: object, parsed_args: argparse.Namespace) -> WantedResources:
    """Return what the options say. Refuse the command if they say nothing, or both."""
    if bool(parsed_args.flavor) == candidate_query.asks(parsed_args):
        refuse("Say what is to fit: either --resource and its like, or --flavor.")
    if parsed_args.flavor:
        return _flavor_of(client_manager, parsed_args.flavor)
    return WantedResources("", candidate_query.query_of(parsed_args))


def _flavor_of(client_manager: Any, name: str) -> WantedResources:
    """Translate a flavor of nova."""
    compute = client_manager.sdk_connection.compute
    if not hasattr(compute, "find_flavor"):
        raise exceptions.CommandError("There is no compute service to ask for the flavor.")
    found = compute.find_flavor(name, ignore_missing=False, get_extra_specs=True)
    specs = {str(key): str(value) for key, value in (found.extra_specs or {}).items()}
    flavor = Flavor(
        found.vcpus, found.ram, found.disk, found.ephemeral, found.swap, specs, found.name
    )
    wanted = wanted_resources(found.name, flavor, Settings())
    if wanted.refused:
        refuse(f"Nova refuses such a guest, unless its image says more: {wanted.refused}")
    return wanted
