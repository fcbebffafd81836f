"""The running compute service: its manager, its loop, and what its driver may call."""
