"""What OpenStack Placement doesn't have: one folder a feature (extensions.md)."""
