"""A git repository of this machine, allowed and followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from kschedweb.accounts.models import User
from kschedweb.policies.repositories import services
from tests.support.git_server import GOOD, Work, init_work, look, served


@pytest.fixture(autouse=True)
def allowed(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.REPOSITORY_ALLOWLIST, settings.REPOSITORY_ALLOW_INSECURE = ["127.0.0.1", "127.0.0.0/8"], True
    settings.REPOSITORY_FOLDERS = [str(tmp_path / "git")]


@pytest.fixture
def ours(tmp_path: Path) -> Work:
    repository = init_work(tmp_path / "git" / "repo")
    repository.commit("Begin", web=GOOD.format(50))
    return repository


@pytest.fixture
def address(ours: Work, tmp_path: Path) -> Iterator[str]:
    with served(tmp_path / "git") as (url, _):
        yield f"{url}/repo"


@pytest.fixture
def followed_repository(ours: Work, address: str, admin: User) -> Work:
    services.repository_save(user=admin, name="platform", url=address, folder="policies")
    assert look().problem == ""
    return ours
