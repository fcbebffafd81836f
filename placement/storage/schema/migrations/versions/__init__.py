"""One script a change of the tables, by number."""
