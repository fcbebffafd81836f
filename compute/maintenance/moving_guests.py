"""What the guests of the records ask for when they move, as far as their flavors say it."""

from dataclasses import dataclass

from compute.maintenance.fitting import wanted_resources
from compute.records.cell_database import CellDatabase
from compute.requests.settings import Settings

#: how many queries one question to placement may have
MOST_ASKED = 10_000


@dataclass(frozen=True)
class MovingGuests:
    """What guests ask for.

    :param requests: the query of each, by uuid
    :param unsaid: how many guests have none: Nova refuses their flavors without their images, or
        asks a second time for hosts that don't report PCPU. Placement asks for what they hold
    :param too_many: how many have none because there are too many guests
    """

    requests: dict[str, str]
    unsaid: int = 0
    too_many: int = 0


def moving_guests(cell: CellDatabase, settings: Settings) -> MovingGuests:
    """Return what the guests on hosts ask for when they move."""
    requests: dict[str, str] = {}
    unsaid = too_many = 0
    for instance in cell.instances.all():
        if not instance.host:
            continue
        if len(requests) >= MOST_ASKED:
            too_many += 1
            continue
        wanted = wanted_resources(
            instance.uuid, instance.flavor, settings, instance.booted_from_volume
        )
        if wanted.refused or wanted.fallback:
            unsaid += 1
        else:
            requests[instance.uuid] = wanted.query
    return MovingGuests(requests, unsaid, too_many)
