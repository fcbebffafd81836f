"""What differs between SQLite, PostgreSQL and MariaDB, and their drivers."""
