"""`nova-manage placement sync_aggregates`: host aggregates in placement (compute.md §7.4)."""

import argparse
from collections.abc import Sequence

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli.access import placement_access
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.command_line import OK, PROGRAM, load_configuration, parser
from compute.cli.console import say
from compute.maintenance.aggregate_sync import HostUnmapped, Membership
from compute.maintenance.aggregate_sync import sync_aggregates as memberships
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import why

SEVERAL_NODES = 1
UNREADABLE = 2
NOT_UPDATED = 3
UNMAPPED = 4
NO_NODE = 5
NO_PROVIDER = 6

EXIT_CODES = """\
exit codes:
    0  each host's provider is in the host's aggregates
    1  a host has several compute nodes: it ends there
    2  the aggregates of a provider can't be read: it ends there
    3  a provider can't be updated, or placement can't be reached: it ends there
    4  a host isn't mapped to a cell
    5  a host has no compute node record
    6  a host's provider isn't there
"""
OF_SEVERAL = "Hosts of 4, 5 and 6 are told and left out; of several the highest counts."


def sync_aggregates(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Put the provider of each host into the host's aggregates; nothing is taken out of one."""
    asked = _parser().parse_args(arguments)
    conf = load_configuration(config_arguments)
    try:
        with (
            records(conf) as cell,
            placement_access.opened(conf, config_arguments, asked.way) as adapter,
        ):
            client = SchedulerReportClient(adapter, conf=conf)
            codes = {OK}
            for membership in memberships(client, admin_context(), cell):
                codes.add(_told(membership, asked.verbose))
            return max(codes)
    except exceptions.TooManyComputesForHost as error:
        say(PROGRAM, error)
        return SEVERAL_NODES
    except (
        exceptions.ResourceProviderAggregateRetrievalFailed,
        exceptions.ResourceProviderRetrievalFailed,
    ) as error:
        say(PROGRAM, error)
        return UNREADABLE
    except (
        PlacementUnusable,
        exceptions.ResourceProviderUpdateConflict,
        exceptions.ResourceProviderUpdateFailed,
        exceptions.PlacementAPIConnectFailure,
        ClientException,
    ) as error:
        say(PROGRAM, why(error))
        return NOT_UPDATED


def _parser() -> argparse.ArgumentParser:
    options = parser("sync_aggregates", sync_aggregates.__doc__ or "", EXIT_CODES, OF_SEVERAL)
    options.add_argument("--verbose", action="store_true", help="tell of each host")
    placement_access.add_options(options)
    return options


def _told(membership: Membership, verbose: bool) -> int:
    """Report one host of an aggregate; return its exit code."""
    where = f"host {membership.host} of aggregate {membership.aggregate.name}"
    if membership.error is not None:
        say(PROGRAM, f"{where}: {membership.error}")
        if isinstance(membership.error, HostUnmapped):
            return UNMAPPED
        missing = isinstance(membership.error, exceptions.ComputeHostNotFound)
        return NO_NODE if missing else NO_PROVIDER
    if verbose:
        print(
            f"Provider {membership.provider} of {where} is in aggregate {membership.aggregate.uuid}"
        )
    return OK
