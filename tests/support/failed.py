"""The tests that failed in the last run, a line each, as pytest takes them: ``python -m tests.support.failed``."""

from __future__ import annotations

import json
import re
from pathlib import Path

CACHE = Path(".pytest_cache/v/cache/lastfailed")
GROUP = re.compile(r"@[^@\[\]]+$")  # pytest-xdist's loadgroup adds it


def failed(cached: str) -> list[str]:
    """The node IDs in what pytest keeps of failures."""
    return [GROUP.sub("", name) for name in json.loads(cached)]


if __name__ == "__main__":
    for name in failed(CACHE.read_text()) if CACHE.exists() else ():
        print(name)
