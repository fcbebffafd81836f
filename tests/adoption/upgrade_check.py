"""What `placement-status upgrade check` prints, without the check that only Berth has."""

import json

#: the title of that check
OURS = "Berth Schema"


def without_ours(printed: str) -> list[str]:
    """Return the results, from the table or the JSON of either service."""
    if printed.startswith("{"):
        checks = json.loads(printed)["checks"]
        return [str(check) for check in checks if check["check"] != OURS]
    lines = [line.strip("| ") for line in printed.splitlines() if line.startswith("|")]
    if f"Check: {OURS}" in lines:
        lines = lines[: lines.index(f"Check: {OURS}")]
    return lines
