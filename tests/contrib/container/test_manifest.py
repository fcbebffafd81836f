"""contrib/kubernetes: the manifest is one by Kubernetes' own schemas."""

import subprocess

import pytest

from tests.contrib.files import CONTRIB
from tests.functional.placement.serving.programs import needed


@pytest.mark.parametrize("version", ["1.29.0", "1.37.0"])
def test_the_manifest_has_no_field_that_kubernetes_doesnt_know(version):
    check = [needed("kubernetes-validate", "kubernetes-validate"), "--strict", "-k", version]
    manifest = CONTRIB / "kubernetes" / "placement-api.yaml"
    done = subprocess.run([*check, str(manifest)], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert (done.returncode, said.count(" passed for ")) == (0, 2), said
