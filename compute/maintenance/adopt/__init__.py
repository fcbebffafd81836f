"""Moving all that a host has to another root."""
