"""What the commands `tree` and `consumers` share: options, reading of trees, exit codes."""

import argparse
from collections.abc import Callable, Iterator, Sequence

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli.access import placement_access
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.command_line import OK, PROGRAM, load_configuration, parser
from compute.cli.console import say
from compute.maintenance.provider_details import ProviderDetails, find_roots, read_tree, read_trees
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import why

FAILED = 1
NO_PROVIDER = 2

EXIT_CODES = """\
exit codes:
    0  done
    1  placement can't be reached or read
    2  there is no such provider
"""

#: the providers of one tree, parents first
Tree = list[ProviderDetails]


def options_of(command: str, description: str) -> argparse.ArgumentParser:
    """Return the parser of `command` with the options that both commands have."""
    made = parser(command, description, EXIT_CODES)
    which = made.add_mutually_exclusive_group()
    which.add_argument("--node", metavar="NAME", help="the tree of this compute node")
    which.add_argument(
        "--provider", metavar="NAME|UUID", help="the tree that this provider is part of"
    )
    made.add_argument("--json", action="store_true", help="one JSON object on stdout")
    placement_access.add_options(made)
    return made


def show_trees(
    asked: argparse.Namespace,
    config_arguments: Sequence[str],
    show: Callable[[Iterator[Tree], CellDatabase], None],
) -> int:
    """Read the requested trees, pass them to `show`, and return the exit code."""
    conf = load_configuration(config_arguments)
    context = admin_context()
    try:
        with (
            records(conf) as cell,
            placement_access.opened(conf, config_arguments, asked.way, read_only=True) as adapter,
        ):
            client = SchedulerReportClient(adapter, conf=conf)
            wanted = asked.node or asked.provider
            roots = find_roots(client, context, wanted)
            if wanted is None:
                show(read_trees(client, context, roots), cell)
            else:
                show((read_tree(client, context, root) for root in roots), cell)
    except exceptions.ResourceProviderNotFound as error:
        say(PROGRAM, error)
        return NO_PROVIDER
    except (
        PlacementUnusable,
        exceptions.ResourceProviderRetrievalFailed,
        exceptions.ResourceProviderAllocationRetrievalFailed,
        ClientException,
    ) as error:
        say(PROGRAM, why(error))
        return FAILED
    return OK
