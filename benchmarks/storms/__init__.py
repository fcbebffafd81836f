"""The parts of ``python -m benchmarks.storm``."""
