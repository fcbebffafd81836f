#!/usr/bin/env python3
"""Make a release: sdist, wheel, Debian packages, image, list of parts (SBOM) and checksums.

    contrib/release/make_release.py DIRECTORY

It needs git, and the package `build` in this Python. The release is that of a commit which has
collected its release notes; with --dirty, that of the files as they are, for a trial. Debian
packages are made where `dpkg-buildpackage` and `dh_virtualenv` are installed, the image where
`buildah` is. What isn't made is told. Each part is installed and used: sdist and wheel in fresh
environments, the image as a container, the Debian packages in a container of the image's base.
`tox -e deb` and `tox -e container` do more with both.

Without a registry, say --base localhost/berth-base: contrib/container/make_base makes it.

BERTH_REPOSITORY_URL and BERTH_FILES_URL name the public place of the sources, for the metadata
(packaged_description.py).
"""

import argparse
import configparser
import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUMS = "SHA256SUMS"
#: the image's base, if no other is named
BASE = "debian:bookworm-slim"
#: what an installation must be able to do
USES = (
    ("placement-manage", "--version"),
    ("placement-manage", "db", "sync"),
    ("placement-status", "upgrade", "check"),
    ("placement-api", "--version"),
    ("berth-compute", "--version"),
)
#: a database for it in a container
DATABASE = "OS_PLACEMENT_DATABASE__CONNECTION=sqlite:////tmp/placement.db"


class Refused(Exception):
    """The release can't be made; the text says why."""


def main() -> int:
    """Make all parts; return 0, or 1 after a line that says why it was refused."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("directory", type=Path, help="where the parts go; it has to be empty")
    options.add_argument("--base", help="the image's base; made with debootstrap if it isn't there")
    options.add_argument(
        "--dirty", action="store_true", help="changes need not be committed, nor notes collected"
    )
    arguments = options.parse_args()
    try:
        release(arguments.directory.resolve(), arguments.dirty, arguments.base)
    except Refused as refused:
        print(f"release: {refused}", file=sys.stderr)
        return 1
    return 0


def release(folder: Path, dirty: bool, base: str | None = None) -> None:
    """Make all parts in the folder. Raises Refused."""
    if importlib.util.find_spec("build") is None:
        raise Refused("the package build is missing: pip install build")
    if not dirty:
        if output("git", "status", "--porcelain"):
            raise Refused("commit or remove your changes first: the release is that of a commit")
        check_notes(ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Refused(f"{folder} isn't empty")
    # the same commit gives files with the same times
    os.environ["SOURCE_DATE_EPOCH"] = output("git", "log", "-1", "--format=%ct")
    step("sdist and wheel are built")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    for part in (sdist, wheel):
        step(f"{part.name} is installed and used")
        parts = proven(part)
    version = wheel.name.split("-")[1]
    sbom = folder / f"{wheel.name.rpartition('-py3')[0]}.cdx.json"
    sbom.write_text(json.dumps(bill(parts), indent=1) + "\n", encoding="utf-8")
    if (
        base
        and has("buildah")
        and not output("buildah", "images", "--quiet", "--filter", f"reference={base}")
    ):
        step(f"{base} is made")
        run(ROOT / "contrib" / "container" / "make_base", base)
    packages(folder, base or BASE)
    image(folder, version, base or BASE)
    files = sorted(each for each in folder.iterdir() if each.is_file())
    lines = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    run("sha256sum", "--check", "--quiet", SUMS, cwd=folder)
    print(*(each.name for each in files), SUMS, sep="\n")


def check_notes(clone: Path) -> None:
    """Raise Refused if a release note of the clone waits to be collected."""
    waiting = list((clone / "doc" / "releases" / "changes").glob("*.rst"))
    if waiting:
        setup = configparser.ConfigParser()
        setup.read(clone / "setup.cfg")
        collect = f"towncrier build --version {setup['metadata']['version']} --yes"
        raise Refused(
            f"{len(waiting)} release notes in doc/releases/changes aren't collected:"
            f" run `{collect}` and commit"
        )


def proven(part: Path) -> list[dict]:
    """Install a part into a fresh environment, and use it; return what pip installed there."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        venv.create(home / "venv", with_pip=True)
        programs = home / "venv" / "bin"
        run(programs / "python", "-m", "pip", "install", "--quiet", part)
        environ = {
            "PATH": os.environ["PATH"],
            "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{home}/placement.db",
        }
        for command in USES:
            run(programs / command[0], *command[1:], cwd=home, env=environ)
        for file in ("man/man8/placement-api.8", "berth/etc/placement.conf.sample"):
            if not (home / "venv" / "share" / file).is_file():
                raise Refused(f"{part.name} doesn't install share/{file}")
        inspect = output(programs / "python", "-m", "pip", "inspect", "--local", cwd=home)
        return [each["metadata"] for each in json.loads(inspect)["installed"]]


def bill(parts: list[dict]) -> dict:
    """Return the list of parts as CycloneDX: what a plain installation has."""
    tools = {"pip", "setuptools"}
    components = [
        {
            "type": "library",
            "name": part["name"],
            "version": part["version"],
            "purl": f"pkg:pypi/{part['name'].lower().replace('_', '-')}@{part['version']}",
            **_licence(part),
        }
        for part in sorted(parts, key=lambda part: part["name"].lower())
        if part["name"] not in tools
    ]
    (ours,) = [each for each in components if each["name"] == "openstack-berth"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": ours | {"type": "application"}},
        "components": [each for each in components if each is not ours],
    }


def _licence(part: dict) -> dict:
    named = part.get("license_expression") or part.get("license", "").strip().partition("\n")[0]
    return {"licenses": [{"license": {"name": named}}]} if named else {}


def packages(folder: Path, base: str) -> None:
    """Make the Debian packages, where their tools are; install them in a container of the base."""
    if missing := [tool for tool in ("dpkg-buildpackage", "dh_virtualenv") if not has(tool)]:
        print(f"no Debian packages: {', '.join(missing)} isn't installed")
        return
    step("Debian packages are built")
    run(ROOT / "contrib" / "debian" / "build", folder)
    if not has("buildah"):
        print("the Debian packages weren't installed: buildah isn't")
        return
    install = "apt-get update && apt-get install --yes --no-install-recommends /release/*.deb"
    step("Debian packages are installed and used")
    used = " && ".join(" ".join(command) for command in USES)
    with container(base) as name:
        mounted = f"--volume={folder}:/release:ro"
        command = ("sh", "-ec", f"{install} && {used}")
        run("buildah", "run", mounted, f"--env={DATABASE}", name, "--", *command)


def image(folder: Path, version: str, base: str) -> None:
    """Make the image as an archive, where buildah is; use a container of the archive."""
    if not has("buildah"):
        print("no image: buildah isn't installed")
        return
    name = f"placement-api:{version}"
    wheels = ROOT / "wheels"
    if wheels.exists():
        raise Refused(f"{wheels} is in the way: the image's wheels are collected there")
    step("the image is built")
    try:
        wanted = (".[keystone,postgresql,mysql]", "pyuwsgi")
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", wheels, *wanted)
        made = ("--tag", name, "--build-arg", f"BASE={base}")
        file = "contrib/container/Containerfile"
        run("buildah", "build", "--quiet", *made, "--file", file, ".")
    finally:
        shutil.rmtree(wheels, ignore_errors=True)
    archive = f"oci-archive:{folder}/placement-api-{version}.oci.tar"
    run("buildah", "push", "--quiet", name, f"{archive}:{name}")
    step("the image is used")
    with container(archive) as used:
        for command in USES:
            run("buildah", "run", f"--env={DATABASE}", used, "--", "kolla_start", *command)


@contextlib.contextmanager
def container(of: str) -> Iterator[str]:
    """Yield the name of a new container, which is removed at the end."""
    name = output("buildah", "from", "--quiet", of)
    try:
        yield name
    finally:
        run("buildah", "rm", name)


def step(text: str) -> None:
    """Say what begins: each step takes minutes."""
    print(f"{text} …", flush=True)


def has(tool: str) -> bool:
    """Return whether a program is installed."""
    return shutil.which(tool) is not None


def run(*command: object, **options: object) -> None:
    """Run a command in the clone. Raises Refused with what it said if it fails."""
    output(*command, **options)


def output(*command: object, **options: object) -> str:
    """Run a command in the clone, and return what it printed. Raises Refused if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, text=True, capture_output=True, check=False, **{"cwd": ROOT, **options}
    )
    if done.returncode:
        raise Refused(
            f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
