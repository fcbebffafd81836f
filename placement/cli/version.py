"""Which version of Berth is installed."""

import importlib.metadata

VERSION = importlib.metadata.version("berth")
