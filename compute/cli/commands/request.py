"""`nova-manage placement request`: what nova's scheduler asks placement for a guest."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from compute.cli.access.records_access import records
from compute.cli.access.request_settings import request_settings
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration, parser
from compute.cli.console import say
from compute.maintenance.fitting import UnknownName, known_flavor
from compute.records.instance import Flavor
from compute.report.consumers.resource_request import ResourceRequest
from compute.requests.documents import DescribedGuest, UnreadableGuests, guests_of
from compute.requests.reading.refusal import Refused
from compute.requests.settings import Settings
from compute.requests.translation import healed_amounts, request_of
from placement.reports.lines import wrapped

UNREADABLE = 2

EXIT_CODES = """\
exit codes:
    0  each guest is translated, or refused as nova refuses it
    2  the input can't be read, or there is no such flavor
"""


def request(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Show what nova's scheduler asks placement for flavors and images.

    With --json, guests are read as a JSON list of objects with the keys flavor (name, vcpus, ram,
    root_gb, ephemeral_gb, swap, extra_specs), image (properties, disk_format), is_bfv, and devices
    (the resource_request of ports); keys may be missing. The answer is a JSON list in the same
    order: query, fallback, holds, heals, refused, left_out. Neither placement nor records are read
    then.

    Otherwise a flavor of this host's records is shown (a flavor is known if an instance has it), or
    one that the options describe. Nova's options [scheduler]query_placement_for_image_type_support
    and image_metadata_prefilter, [filter_scheduler]pci_in_placement and [pci]alias are read from
    the configuration.
    """
    made = parser("request", request.__doc__ or "", EXIT_CODES)
    add = made.add_argument
    add("--json", metavar="FILE", help="translate the guests in this file; -: standard input")
    add("--flavor", metavar="NAME", help="a flavor of the records")
    add(
        "--extra-spec",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="an extra spec, beside those of --flavor or in their place; repeatable",
    )
    for name, what in (("vcpus", "processors"), ("ram", "MiB of memory"), ("disk", "GiB of disk")):
        add(f"--{name}", metavar="NUMBER", type=int, help=f"{what} of the flavor")
    asked = made.parse_args(arguments)
    described = any([asked.extra_spec, asked.vcpus, asked.ram, asked.disk])
    if (asked.json is not None) == (asked.flavor is not None or described):
        raise UnusableInput("say what to translate: either --json, or --flavor and --extra-spec")
    conf = load_configuration(config_arguments)
    settings = request_settings(conf)
    try:
        if asked.json is not None:
            answers = [_answer(guest, settings) for guest in _read(asked.json)]
            print(json.dumps(answers, indent=2))
            return OK
        flavor = Flavor(vcpus=1)
        if asked.flavor is not None:
            with records(conf) as cell:
                flavor = known_flavor(cell, asked.flavor)
        print("\n".join(_lines(_changed(flavor, asked), settings)))
    except (UnreadableGuests, UnknownName) as error:
        say(PROGRAM, error)
        return UNREADABLE
    return OK


def _read(name: str) -> list[DescribedGuest]:
    """Read the guests of a file; raise UnreadableGuests."""
    try:
        if name == "-":
            text = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                text = file.read()
        document = json.loads(text)
        # half a surrogate pair is no text: no query can have it
        json.dumps(document, ensure_ascii=False).encode()
        return guests_of(document)
    except (OSError, ValueError, RecursionError, UnreadableGuests) as error:
        raise UnreadableGuests(f"{name} can't be read: {error}.") from error


def _answer(guest: DescribedGuest, settings: Settings) -> dict[str, object]:
    """Return what a guest asks for, or why it's refused."""
    answer: dict[str, Any] = dict.fromkeys(("query", "fallback", "holds"))
    answer["heals"] = dict(healed_amounts(guest.flavor, guest.booted_from_volume))
    answer["refused"] = None
    answer["left_out"] = []
    try:
        found = request_of(
            guest.flavor, guest.image, guest.ports, settings, guest.booted_from_volume
        )
    except Refused as refused:
        answer["refused"] = str(refused)
        return answer
    answer["query"] = found.request.to_querystring()
    answer["fallback"] = found.fallback and found.fallback.to_querystring()
    answer["holds"] = dict(found.holds)
    answer["left_out"] = list(found.left_out)
    return answer


def _changed(flavor: Flavor, asked: argparse.Namespace) -> Flavor:
    """Return the flavor with what the options say; raise UnusableInput."""
    specs = dict(flavor.extra_specs)
    for text in asked.extra_spec:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UnusableInput(f"--extra-spec {text}: it must be KEY=VALUE")
        specs[name] = value
    given = {"vcpus": asked.vcpus, "memory_mb": asked.ram, "root_gb": asked.disk}
    sizes = {name: number for name, number in given.items() if number is not None}
    if any(number < 0 for number in sizes.values()):
        raise UnusableInput("--vcpus, --ram and --disk must be numbers from 0")
    return dataclasses.replace(flavor, extra_specs=specs, **sizes)


def _lines(flavor: Flavor, settings: Settings) -> Iterator[str]:
    try:
        found = request_of(flavor, settings=settings)
    except Refused as refused:
        yield from wrapped(f"Nova refuses such a guest: {refused}")
        return
    yield "Nova asks placement for:"
    yield from _parameters(found.request)
    if found.fallback:
        yield "For hosts that don't report PCPU it asks as well for:"
        yield from _parameters(found.fallback)
    amounts = ", ".join(f"{name} {amount}" for name, amount in sorted(found.holds.items()))
    yield from wrapped(f"The guest holds then: {amounts or 'nothing'}.", hanging=2)
    for sentence in found.left_out:
        yield from wrapped(sentence, hanging=2)


def _parameters(asked: ResourceRequest) -> Iterator[str]:
    for name, value in asked.parameters():
        yield from wrapped(f"{name}={value.replace(',', ', ')}", 2, 2)
