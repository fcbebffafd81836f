"""The build backend of pyproject.toml: setuptools, without what an earlier build left behind.

setuptools copies the packages to build/lib and packs what is in this folder. It never removes a
file there. So a module that was deleted, or that another branch has, would get into the next wheel.
"""

import pathlib
import shutil

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(
    wheel_directory: str,
    config_settings: dict | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Pack the packages as they are now; the build's working directory is that of the sources."""
    for folder in (*pathlib.Path("build").glob("lib*"), *pathlib.Path("build").glob("bdist.*")):
        shutil.rmtree(folder)
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
