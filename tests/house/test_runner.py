"""What `make run` prepares before it starts anything; tests/live/test_make_run.py starts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from kschedweb import runner

NAMES = ("KSCHEDWEB_SECRET_KEY", "KSCHEDWEB_ENCRYPTION_KEYS", "KSCHEDWEB_SANDBOX_TOKEN")


@pytest.fixture(autouse=True)
def no_secrets_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        # Set first, so that what the runner sets is taken back after the test.
        monkeypatch.setenv(f"{name}_FILE", "")


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    runner.make_secrets(folder)
    first = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(first) == {"secret_key", "encryption_keys", "sandbox_token"}
    assert len(set(first.values())) == 3
    assert all(len(value) >= 43 for value in first.values())
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    for name in NAMES:
        os.environ[f"{name}_FILE"] = ""
    runner.make_secrets(folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == first
    assert Path(os.environ["KSCHEDWEB_SECRET_KEY_FILE"]).read_text() == first["secret_key"]


def test_given_secrets_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHEDWEB_SECRET_KEY", "given")
    monkeypatch.setenv("KSCHEDWEB_ENCRYPTION_KEYS_FILE", "elsewhere")
    monkeypatch.setenv("KSCHEDWEB_SANDBOX_TOKEN", "given")
    runner.make_secrets(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert os.environ["KSCHEDWEB_SECRET_KEY_FILE"] == ""
    assert os.environ["KSCHEDWEB_ENCRYPTION_KEYS_FILE"] == "elsewhere"


def test_unusable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImproperlyConfigured, match="KSCHEDWEB_DATA_DIR cannot be used"):
        runner.make_secrets(tmp_path / "file" / "data")
