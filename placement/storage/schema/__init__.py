"""The tables, and how a database gets them."""
