"""Version of the running code: the same in the engine's command line, in manage.py and at the foot of each page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kschedweb import __version__, build
from kschedweb.engine.releases import RELEASES

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

ROOT = Path(__file__).parents[1]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAMES = [f"{name} preview" if release.is_preview else name for name, release in RELEASES.items()]
VERSION_LINE = f"kschedweb {__version__}, kube-scheduler {', '.join(NAMES)}, commit 0123456789ab, our own"


@pytest.mark.parametrize("command", [["-m", "kschedweb.engine", "--version"], ["manage.py", "version"]])
def test_a_command_tells_it(command: list[str]) -> None:
    environment = {**os.environ, "KSCHEDWEB_COMMIT": COMMIT, "KSCHEDWEB_BUILD": " our\nown "}
    environment.pop("KSCHEDWEB_SECRET_KEY", None)
    process = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, f"{VERSION_LINE}\n", "")


@pytest.mark.parametrize("module", ["kschedweb.cli", "kschedweb.engine"])
def test_it_is_told_without_importing_what_decides(module: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", module, "--version"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert module in imported
    assert not imported & {"numpy", "yaml", "ssl", "kschedweb.engine.releases"}


@pytest.mark.django_db
def test_the_menu_of_the_account_says_it(
    client: Client, client_as: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSCHEDWEB_COMMIT", COMMIT)
    monkeypatch.setenv("KSCHEDWEB_BUILD", "our own")
    page = client_as("viewer").get("/policies/").content.decode()
    assert f'<p class="small soft" data-product>{VERSION_LINE}</p>' in page
    assert __version__ not in client.get("/policies/", follow=True).content.decode()


@pytest.mark.django_db
def test_a_mark_is_text_on_a_page(client_as: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHEDWEB_BUILD", "<b>x</b>" + "y" * 200)
    page = client_as("viewer").get("/policies/").content.decode()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "y" * build.MAX_MARK_LENGTH not in page


def test_the_commit_of_a_checkout_is_found_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(folder: Path, *arguments: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.delenv("KSCHEDWEB_COMMIT", raising=False)
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", "-b", "side", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "second")
    for change in ((), ("pack-refs", "--all"), ("checkout", "-q", "--detach")):
        if change:
            git(main, *change)
        for folder in (main, other):
            build._checked_out.cache_clear()
            monkeypatch.setattr(build, "CHECKOUT", folder)
            assert build.build_commit() == git(folder, "rev-parse", "HEAD")
    build._checked_out.cache_clear()
    monkeypatch.setattr(build, "CHECKOUT", tmp_path)
    assert build.build_commit() == ""
    assert "commit" not in build.describe_product()
    monkeypatch.setenv("KSCHEDWEB_COMMIT", "no commit")
    assert build.build_commit() == ""


def test_this_checkout_has_a_commit_or_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSCHEDWEB_COMMIT", raising=False)
    assert re.fullmatch("[0-9a-f]{40}", build.build_commit()) or not (ROOT / ".git").exists()
