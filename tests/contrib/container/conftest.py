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
    if kept := os.environ.get("BERTH_CONTAINER_KEEP"):
        folder = Path(kept).absolute()
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        image = Image(folder)
        if new:
            image.build()
        yield image
        return
    with tempfile.TemporaryDirectory(prefix="berth-container-") as folder:
        image = Image(Path(folder))
        image.build()
        yield image
