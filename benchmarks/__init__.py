"""Side-by-side timings against OpenStack Placement; not part of the test suite."""
