"""The installed version of Berth."""

import importlib.metadata

VERSION = importlib.metadata.version("openstack-berth")
