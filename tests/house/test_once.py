"""Preparations of tests happen once, also in programs beside pytest (soak, crowd)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.once import VARIABLE, made_once
from tests.support.site import ROOT, clean_environment

PROGRAM = """
from tests.support.once import made_once
for _ in range(2):
    print(made_once("number", lambda folder: print("made", (folder / "one").write_text("1"))))
"""


def test_a_program_beside_pytest_makes_it_once_and_leaves_nothing() -> None:
    environment = clean_environment()
    environment.pop(VARIABLE)
    process = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    made_line, folder, second_folder = process.stdout.splitlines()
    assert (made_line, folder) == ("made 1", second_folder)
    assert not Path(folder).parent.exists()


def test_processes_of_a_run_share_it() -> None:
    made_folders: list[Path] = []
    folders = [made_once("house", made_folders.append) for _ in range(2)]
    assert len(set(folders)) == 1
    assert len(made_folders) <= 1
