"""Keep what the page's tests draw: `page_*.png`, `file_reshape.png`.

The tests start a service, fill it, and look at it with chromium.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TESTS = (
    "tests/functional/placement/extensions/page/test_views.py",
    "tests/functional/placement/extensions/page/test_operators.py",
    "tests/functional/placement/extensions/page/test_plans.py",
    "tests/functional/placement/extensions/page/test_questions.py",
    "tests/functional/compute/maintenance/test_drawn_files.py",
)
#: name of the picture → that of the tests' screenshot
PICTURES = {
    **{
        f"page_{view}": view
        for view in (
            *("cloud", "map", "suspects", "trees", "consumer", "searches", "why", "capacity"),
            *("flavors", "plans", "whatif", "survives", "reshape"),
        )
    },
    "file_reshape": "file-reshape",
}


def main() -> None:
    """Run the tests, and copy the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *TESTS]
        subprocess.run(command, env=os.environ | {"BERTH_SCREENSHOTS": folder}, check=True)
        for name, screenshot in PICTURES.items():
            shutil.copy(Path(folder, f"{screenshot}.png"), HERE / f"{name}.png")


if __name__ == "__main__":
    main()
