"""What the records of a host say of consumers: whose they are, and what they hold."""
