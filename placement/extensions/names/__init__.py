"""Names for people of aggregates, projects and users, from a file of the operator's."""
