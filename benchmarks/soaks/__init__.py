"""The parts of ``python -m benchmarks.soak``, and of its short form in the tests."""
