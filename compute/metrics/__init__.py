"""What the programs of a compute host count, as metrics for Prometheus."""
