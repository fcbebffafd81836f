"""Which extensions a service offers, and its version (extensions.md 1): all is in `handler.py`."""
