"""PCI devices: how they are listed, chosen and reported to placement."""
