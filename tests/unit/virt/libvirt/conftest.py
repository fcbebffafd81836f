import pytest

from tests.unit.virt.libvirt.library import require_libvirt


@pytest.fixture
def libvirt():
    """Return the library."""
    require_libvirt()
    import libvirt

    return libvirt
