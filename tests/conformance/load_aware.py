"""What published load-aware schedulers answered, in their own code: one file or more for each of them.

Files lie in goldens/load-aware and, where there is one, in the folder of recorded data; what is added to either is
tested as well. The first line of a file tells about it, each further one is a case with what is expected.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

FOLDERS = (
    Path(__file__).parent / "goldens" / "load-aware",
    Path(os.environ.get("KSCHEDWEB_SHARED") or Path(__file__).parents[3] / "shared") / "conformance" / "load-aware",
)


def vectors(kind: str) -> list[Any]:
    """The cases of all files called ``kind`` or ``kind-…``, each case once."""
    found: dict[str, Any] = {}
    for folder in FOLDERS:
        for path in sorted({*folder.glob(f"{kind}.jsonl.gz"), *folder.glob(f"{kind}-*.jsonl.gz")}):
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    row = json.loads(line)
                    if "meta" not in row:
                        found.setdefault(json.dumps(row, sort_keys=True), row)
    return [
        pytest.param(row, id=f"{row['id']}-{row['case'] if 'case' in row else row['kind']}") for row in found.values()
    ]
