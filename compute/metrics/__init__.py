"""What the programs of a compute host count for Prometheus: the agent, and the command audit."""
