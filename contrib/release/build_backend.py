"""The build backend of pyproject.toml: setuptools, without what an earlier build left behind.

setuptools copies the packages to build/lib and packs what is in this folder. It never removes a
file there. So a module that was deleted, or that another branch has, would get into the next wheel.

A wheel also gets the manual pages, and a description whose links lead somewhere outside of a clone:
see `packaged_description`.
"""

import pathlib
import shutil
import sys

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

# build tools load this file alone
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import packaged_description

packaged_description.install()

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
    _write_manual_pages(pathlib.Path("doc", "man"), pathlib.Path("build", "packaged-man"))
    for folder in (*pathlib.Path("build").glob("lib*"), *pathlib.Path("build").glob("bdist.*")):
        shutil.rmtree(folder)
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def get_requires_for_build_wheel(config_settings: dict | None = None) -> list[str]:
    """Add what writes manual pages. Without it, for example offline, a wheel has none."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), "docutils>=0.21"]


def _write_manual_pages(sources: pathlib.Path, target: pathlib.Path) -> None:
    """Write the pages where [options.data_files] of setup.cfg looks for them."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        from docutils.core import publish_file
    except ImportError:
        return
    target.mkdir(parents=True)
    for source in sorted(sources.glob("*.rst")):
        page = target / f"{source.stem}.8"
        publish_file(source_path=str(source), destination_path=str(page), writer_name="manpage")
