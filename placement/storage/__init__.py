"""SQL: one module a question; in rooms, how questions reach the database (architecture.rst D2)."""
