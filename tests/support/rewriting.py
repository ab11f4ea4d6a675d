"""Modules of tests are compiled once: pytest-xdist's processes begin at the same moment, and each would compile all."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def compile_all(config: pytest.Config, modules: Iterable[Path]) -> None:
    """Keep ``modules`` with their assertions rewritten where pytest looks for them, as it would itself."""
    if sys.dont_write_bytecode:
        return
    state = config.stash[rewrite.assertstate_key]
    for path in modules:
        kept = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(path, kept) is None:
            rewrite.try_makedirs(kept.parent)
            stat, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, stat, kept)
