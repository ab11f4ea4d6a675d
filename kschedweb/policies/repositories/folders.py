"""Repositories in folders of this server. Nothing that git would read of one may lie outside of the allowed folders.

git follows links, a ``.git`` that is a file, the ``commondir`` of a worktree and the ``alternates`` of its objects.
Anyone who can write in a folder may point each of these anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from kschedweb.web.errors import ApplicationError

# The files by which git reads other folders, relative to the git folder.
ALTERNATES, COMMON = Path("objects", "info", "alternates"), Path("commondir")
# Bytes read of a file that leads elsewhere, and folders that one repository may be made of.
MOST_BYTES, MOST_PLACES = 1 << 16, 20
NOT_ALLOWED = "This folder of the server is not allowed."
LEADS_OUT = "This repository leads out of the folders of the server that are allowed, by {}."


class FolderError(ApplicationError):
    """A folder may not be read, or holds no repository."""


def folder_check(path: str) -> None:
    """Raise FolderError if the operator does not allow ``path``."""
    if not _is_allowed(path):
        raise FolderError(
            f"{NOT_ALLOWED} The operator names folders in KSCHEDWEB_REPOSITORY_FOLDERS.",
            errors=[{"path": "url", "message": NOT_ALLOWED}],
        )


def git_folder(path: str) -> str:
    """Return the folder with the objects and branches of the repository at ``path``. Raises FolderError.

    git is given this folder, so that it does not look for another by its own rules.
    """
    folder_check(path)
    root = Path(os.path.realpath(path))
    git_dir = root / ".git" if os.path.lexists(root / ".git") else root
    if git_dir.is_file():
        _check_inside(git_dir, ".git")
        text = _read_text(git_dir)
        if not text.startswith("gitdir: "):
            raise FolderError("The file .git in this folder names no repository.")
        git_dir = root / text.removeprefix("gitdir: ")
    _check_inside(git_dir, ".git")
    git_dir = Path(os.path.realpath(git_dir))
    if not (git_dir / "HEAD").exists():
        raise FolderError("This folder of the server holds no git repository.")
    waiting, visited = [git_dir], set[Path]()
    while waiting:
        place = waiting.pop()
        if place in visited:
            continue
        visited.add(place)
        if len(visited) > MOST_PLACES:
            raise FolderError(f"This repository is made of more than {MOST_PLACES} folders.")
        waiting += _linked_folders(place)
    return str(git_dir)


def _linked_folders(folder: Path) -> Iterator[Path]:
    """List the folders from which git reads besides ``folder``. Raises FolderError if anything leads out."""
    for entry in _scan_entries(folder):
        if entry.is_symlink():
            _check_inside(Path(entry.path), "a link")
    for name, base in ((COMMON, folder), (ALTERNATES, folder / "objects")):
        if (folder / name).exists():
            for line in _read_text(folder / name).split("\n"):
                if line and not line.startswith("#"):
                    _check_inside(base / line, name.name)
                    # commondir names a git folder itself, alternates name its folder of objects.
                    place = Path(os.path.realpath(base / line))
                    yield place if name is COMMON else place.parent


def _scan_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listed:
                for entry in listed:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:  # it went while we looked, or may not be read: nor will git
            continue


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        return os.fsdecode(file.read(MOST_BYTES)).rstrip("\r\n")


def _check_inside(path: Path, by: str) -> None:
    if not _is_allowed(path):
        raise FolderError(LEADS_OUT.format(by))


def _is_allowed(path: Path | str) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(allowed)) for allowed in settings.REPOSITORY_FOLDERS)
