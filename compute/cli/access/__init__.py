"""How commands reach placement, records, drivers and the network service."""
