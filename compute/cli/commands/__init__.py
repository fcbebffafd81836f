"""The commands of nova-manage placement, one module each, with what they print."""
