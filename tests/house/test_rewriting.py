"""Test modules are compiled once, before the processes of a run begin, as each of them would compile them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite

from tests.support.rewriting import compile_all


def test_pytest_reads_what_was_compiled(
    pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    path = tmp_path / "test_one.py"
    path.write_text("def one():\n    number = 1\n    assert number == 2\n")
    compile_all(pytestconfig, [path])
    monkeypatch.delattr(rewrite, "_rewrite_test")
    hook: Any = pytestconfig.pluginmanager.rewrite_hook
    spec = importlib.util.spec_from_file_location("test_one", path, loader=hook)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(AssertionError, match="assert 1 == 2"):
        module.one()
