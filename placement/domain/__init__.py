"""The rules, over plain values: neither Flask nor SQLAlchemy (architecture.rst D3)."""
