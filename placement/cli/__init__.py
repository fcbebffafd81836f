"""The programs of the service: what operators type, and what they are told."""
