"""The databases for tests: SQLite files, and private PostgreSQL and MariaDB servers."""
