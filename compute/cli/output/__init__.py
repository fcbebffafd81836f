"""How commands print: trees, JSON, progress bars, and files for a browser."""
