"""What a flavor says of a guest that runs, beside what the guest holds."""

from compute.records.instance import Flavor
from compute.requests.features.feature_traits import DEVICE_PROFILE
from compute.requests.features.numa import has_cells
from compute.requests.features.processor_rules import check_processors
from compute.requests.features.processors import read_processors
from compute.requests.reading.asked import Asked
from compute.requests.reading.image import ImageProperties
from compute.requests.reading.refusal import Refused


def runs_on_cells(flavor: Flavor) -> bool:
    """Say whether the guest runs on certain NUMA cells, as far as its flavor says.

    A flavor that nova refuses says nothing certain: the guest may run on cells.
    """
    asked = Asked(flavor, ImageProperties(), image_known=False)
    try:
        return has_cells(asked, check_processors(asked, read_processors(asked)))
    except Refused:
        return True


def has_device_profile(flavor: Flavor) -> bool:
    """Say whether the guest has devices of a profile, which cyborg allocates."""
    return bool(flavor.extra_specs.get(DEVICE_PROFILE))
