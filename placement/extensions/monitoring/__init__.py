"""What operators ask of a running service: its health, and pages for Prometheus."""
