"""What the commands of the compute side are made of."""
