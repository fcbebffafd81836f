"""PCI devices: which there are, who gets which, and how placement sees them."""
