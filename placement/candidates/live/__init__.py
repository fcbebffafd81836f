"""How a process keeps its snapshot as new as the database."""
