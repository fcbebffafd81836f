"""The programs of the compute side: what operators type, and what they are told."""
