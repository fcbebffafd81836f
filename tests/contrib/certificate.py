"""A certificate for servers on this machine."""

import subprocess
from pathlib import Path

from tests.functional.placement.serving.programs import needed


def made_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for localhost and its key; return their paths."""
    certificate, key = folder / "placement.crt", folder / "placement.key"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-out", str(certificate), "-keyout", str(key)]
    command = [needed("openssl", "openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes"]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return certificate, key
