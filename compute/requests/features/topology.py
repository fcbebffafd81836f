"""Which sockets, cores and threads of guests nova refuses. Placement isn't asked about them."""

from compute.requests.reading.asked import Asked
from compute.requests.reading.refusal import Refused
from compute.requests.reading.values import whole_number

_KINDS = ("sockets", "cores", "threads")
#: what a guest may have if nobody sets a limit
_MOST = 65536


def check_topology(asked: Asked) -> None:
    """Raise Refused if the image exceeds a limit, or the flavor names no numbers."""
    for kind in _KINDS:
        limit = _of_flavor(asked, f"cpu_max_{kind}")
        theirs = asked.image.get(f"hw_cpu_max_{kind}") or 0
        if limit and theirs > limit:
            raise Refused(
                f"hw_cpu_max_{kind}={theirs} of the image exceeds the flavor's limit {limit}."
            )
        limit = theirs or limit or _MOST
        wanted = asked.image.get(f"hw_cpu_{kind}") or 0
        if wanted > limit:
            raise Refused(f"hw_cpu_{kind}={wanted} of the image exceeds the limit {limit}.")
        _of_flavor(asked, f"cpu_{kind}")


def _of_flavor(asked: Asked, name: str) -> int:
    value = asked.specs.get(f"hw:{name}", "0")
    if (number := whole_number(value)) is None:
        raise Refused(f"hw:{name}={value} must be a whole number.")
    return number
