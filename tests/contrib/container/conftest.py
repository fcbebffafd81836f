"""Selects the tests of this folder, and builds the image that they share.

That takes minutes, so these tests run only if BERTH_CONTAINER is set; the tox environment
`container` sets it. They need root, Debian's packages buildah and debootstrap, and Debian's mirror.
With BERTH_CONTAINER_KEEP=DIRECTORY the image stays in that directory, and the next run uses it.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contrib.container.image import Image

collect_ignore_glob = [] if os.environ.get("BERTH_CONTAINER") else ["test_*.py"]


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    """Yield the image that contrib/container builds."""
    with tempfile.TemporaryDirectory(prefix="berth-container-") as scratch:
        folder = Path(os.environ.get("BERTH_CONTAINER_KEEP") or scratch).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        image, built = Image(folder), folder / "built"
        # what a killed run began is made anew
        if not built.exists():
            image.build()
            built.touch()
        yield image
