"""What published load-aware schedulers answered, in their own code: one file or more for each of them.

Files lie in goldens/load-aware and, where there is one, in the folder of recorded data; what is added to either is
tested as well. The first line of a file tells about it, each further one is a case with what is expected.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

FOLDERS = (
    Path(__file__).parent / "goldens" / "load-aware",
    Path(os.environ.get("KSCHEDWEB_SHARED") or Path(__file__).parents[3] / "shared") / "conformance" / "load-aware",
)


def vectors(kind: str) -> list[Any]:
    """The cases of all files called ``kind`` or ``kind-…``, each case once."""
    return _cases(path for path in files() if path.name == f"{kind}.jsonl.gz" or path.name.startswith(f"{kind}-"))


def answers_of(function: str) -> list[Any]:
    """The cases of all files whose first line names ``function``, each case once."""
    return _cases(path for path in files() if function in asked(path))


def files() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted(folder.glob("*.jsonl.gz"))]


def asked(path: Path) -> str:
    """Which function was asked, as the first line of the file says."""
    [first] = [row for row in _rows(path) if "meta" in row]
    function: str = first["meta"]["function"]
    return function


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _cases(paths: Iterable[Path]) -> list[Any]:
    found: dict[str, Any] = {}
    for row in (row for path in paths for row in _rows(path) if "meta" not in row):
        found.setdefault(json.dumps(row, sort_keys=True), row)
    return [pytest.param(row, id=f"{row['id']}-{row.get('case', row.get('kind', ''))}") for row in found.values()]
