"""The cloud as columns: what a snapshot has of providers, and parts of it."""
