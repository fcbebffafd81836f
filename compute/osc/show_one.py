"""What the `openstack` commands that show one answer share."""

import argparse

from cliff.formatters.commaseparated import CSVLister
from osc_lib.command import command

from compute.osc.exit_codes import CODES, NOTHING_FITS, UNKNOWN


class ShowOne(command.ShowOne):
    """Shows one answer; the exit code says whether something fits."""

    _epilog = CODES
    #: set by `take_action`: whether something fits, and whether that wasn't found out
    fits = False
    unknown = False

    @property
    def formatter_namespace(self) -> str:
        """Return the entry point group of the output formats: cliff's, and CSV."""
        return "berth.openstack.show"

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Print the answer and return the exit code."""
        shown: int = super().run(parsed_args)
        if shown or self.fits:
            return shown
        return UNKNOWN if self.unknown else NOTHING_FITS


class OneAsCsv(CSVLister):
    """One answer as CSV: titles and a line of values."""

    def emit_one(
        self, column_names: object, data: object, stdout: object, parsed_args: object
    ) -> None:
        """Write titles and values."""
        self.emit_list(column_names, [data], stdout, parsed_args)
