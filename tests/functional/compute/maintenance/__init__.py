"""`nova-manage placement`, from the command line down to the database (compute.md §7, §9.5)."""
