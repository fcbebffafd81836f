"""`python -m compute.demo` runs the demonstration."""

import sys

from compute.demo.story import main

if __name__ == "__main__":
    sys.exit(main())
