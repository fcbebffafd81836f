"""The databases that tests run on: SQLite files, and private PostgreSQL and MariaDB servers."""
