"""The differences between a response of the reference and ours, where every header counts."""

import json

from placement.compare.answers import ANYTHING, Reader, ReceivedAnswer
from placement.compare.values import value_differences

#: headers of the HTTP server, not of the service
SERVERS_OWN = {"server", "date", "connection", "transfer-encoding"}


def headers_of(answer: ReceivedAnswer, reader: Reader) -> dict[str, str]:
    """Return the headers that must be equal, by name."""
    found = {k: reader.text(v) for k, v in answer.headers.items() if k not in SERVERS_OWN}
    if "last-modified" in found:
        found["last-modified"] = ANYTHING
    return found


def differences(
    reference: ReceivedAnswer, ours: ReceivedAnswer, reference_reader: Reader, our_reader: Reader
) -> list[str]:
    """Return the differences of our response from the reference's, a line each: theirs first."""
    lines = []
    if reference.status != ours.status:
        lines.append(f"status: {reference.status} / {ours.status}")
    theirs, mine = reference_reader.body(reference), our_reader.body(ours)
    lines += [
        f"{place}: {their_value!r} / {my_value!r}"
        for place, their_value, my_value in value_differences("body", theirs, mine, key_order=True)
    ]
    # different bodies have different lengths
    same_length = not lines and ANYTHING not in json.dumps(theirs, default=str)
    return lines + header_differences(
        reference, ours, reference_reader, our_reader, lengths=same_length
    )


def header_differences(
    reference: ReceivedAnswer,
    ours: ReceivedAnswer,
    reference_reader: Reader,
    our_reader: Reader,
    lengths: bool = False,
) -> list[str]:
    """Return the differences of headers that must be equal, a line each: the reference's first.

    :param lengths: whether Content-Length must be equal, too
    """
    their_headers = headers_of(reference, reference_reader)
    my_headers = headers_of(ours, our_reader)
    if not lengths:
        their_headers.pop("content-length", None)
        my_headers.pop("content-length", None)
    return [
        f"header {name}: {their_headers.get(name)} / {my_headers.get(name)}"
        for name in sorted({*their_headers, *my_headers})
        if their_headers.get(name) != my_headers.get(name)
    ]
