"""The database: connections, one view per read, one transaction per write."""
