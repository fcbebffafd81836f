"""What `nova-manage placement` does, as a library: no terminal, no exit codes (compute.md §7)."""
