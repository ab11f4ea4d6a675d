"""Changes of repositories, and one look at one: each commit that changes a file makes a revision of its policy."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.clusters.connecting.credentials import text_open, text_seal
from kschedweb.policies import services as policies
from kschedweb.policies.models import Policy
from kschedweb.policies.repositories.git import LARGEST_FILE, MOST_FILES, Clone, Commit, File, GitError, address_check
from kschedweb.policies.repositories.models import (
    Repository,
    RepositoryCommit,
    RepositoryFile,
    RepositorySecret,
    RevisionCommit,
)
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.saving import conflict_where

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

Problem = dict[str, Any]
BRANCH = re.compile(r"(?!-)[A-Za-z0-9._/-]{1,200}")
LEAST_SECONDS, MOST_SECONDS = 10, 86_400
LOOK = timedelta(seconds=180)  # a look that has not ended by then died with its process


@transaction.atomic
def repository_save(
    *, user: User, name: str, url: str, branch: str = "main", folder: str = "", username: str = "",
    secret: str | None = None, interval: int = 60, active: bool = True, repository: Repository | None = None,
) -> Repository:  # fmt: skip
    """Make a repository, or change one; ``secret`` is kept where it is ``None``. Raises ApplicationError at fields."""
    folder = _checked(name, url, branch, folder, interval)
    row = repository or Repository(created_by=user)
    moved = repository is not None and (row.url, row.branch, row.folder) != (url, branch, folder)
    row.name, row.url, row.branch, row.folder, row.username = name, url, branch, folder, username
    row.interval, row.active, row.due_at = interval, active, None
    row.commit = "" if moved else row.commit
    taken = Conflict.at("name", "Another repository has this name.")
    with conflict_where(Repository.objects.filter(name=name).exclude(pk=row.pk), taken):
        row.save()
    if moved and secret is None:
        RepositorySecret.objects.filter(pk=row.pk).delete()  # it was given for the other address
    if secret is not None:
        _secret_set(row, secret)
    did = "repository.created" if repository is None else "repository.changed"
    audit.record(user, did, row, name, url=url, branch=branch, folder=folder, active=active)
    return row


def _checked(name: str, url: str, branch: str, folder: str, interval: int) -> str:
    if not policies.NAME.fullmatch(name):
        raise ApplicationError.at("name", policies.NAME_HELP)
    if not BRANCH.fullmatch(branch) or ".." in branch:
        raise ApplicationError.at("branch", "Name a branch, such as main.")
    cleaned = str(PurePosixPath(folder.strip().strip("/"))) if folder.strip().strip("/") else ""
    if ".." in PurePosixPath(cleaned).parts or cleaned.startswith((":", "-")):
        raise ApplicationError.at("folder", "Name a folder of the repository, such as policies/production.")
    if not LEAST_SECONDS <= interval <= MOST_SECONDS:
        raise ApplicationError.at("interval", f"Look every {LEAST_SECONDS} to {MOST_SECONDS:,} seconds.")
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ApplicationError.at("url", "Give user name and secret in their own fields, not in the address.")
    try:
        address_check(url)
    except ApplicationError as error:
        raise ApplicationError.at("url", error.detail) from None
    return cleaned


def _secret_set(row: Repository, secret: str) -> None:
    if not secret:
        RepositorySecret.objects.filter(pk=row.pk).delete()
        return
    sealed = RepositorySecret.objects.filter(pk=row.pk).first() or RepositorySecret(repository=row)
    text_seal(sealed, secret)
    sealed.save()


@transaction.atomic
def repository_delete(*, user: User, repository: Repository) -> None:
    """It is followed no more; its policies stay, and can be edited here."""
    audit.record(user, "repository.deleted", repository, repository.name, url=repository.url)
    shutil.rmtree(_folder(repository), ignore_errors=True)
    repository.delete()


def repository_look_soon(*, user: User, repository: Repository) -> None:
    """Look at the next opportunity."""
    Repository.objects.filter(pk=repository.pk).update(due_at=None)
    audit.record(user, "repository.asked", repository, repository.name)


def due() -> list[Repository]:
    """The repositories that are to be looked at now, each claimed for one caller."""
    now, found = timezone.now(), []
    for row in Repository.objects.filter(Q(due_at=None) | Q(due_at__lte=now), active=True):
        claimed = Repository.objects.filter(pk=row.pk, due_at=row.due_at).update(due_at=now + LOOK)
        found += [row] if claimed else []
    return found


def repository_look(repository: Repository) -> None:
    """One look: fetch the branch, and read each commit since the last look. What fails is told in ``problem``."""
    problem = ""
    try:
        _follow(repository)
    except ApplicationError as error:
        problem = error.detail
    now = timezone.now()
    after = now + timedelta(seconds=repository.interval)
    Repository.objects.filter(pk=repository.pk).update(problem=problem[:500], looked_at=now, due_at=after)


def _folder(repository: Repository) -> Path:
    return Path(settings.DATA_DIR) / "repositories" / f"{repository.pk}.git"


def _follow(repository: Repository) -> None:
    sealed = RepositorySecret.objects.filter(pk=repository.pk).select_related("repository").first()
    secret = text_open(sealed) if sealed else ""
    clone = Clone(_folder(repository), repository.url, repository.branch, repository.username, secret)
    head = clone.fetch()
    if head == repository.commit:
        return
    for commit in clone.commits(repository.commit, head, repository.folder):
        _read(repository, clone, commit)
    Repository.objects.filter(pk=repository.pk).update(commit=head)


@transaction.atomic
def _read(repository: Repository, clone: Clone, commit: Commit) -> None:
    """Read one commit: what changed of each file since the last one."""
    known = {one.path: one for one in repository.files.select_related("policy").select_for_update(of=("self",))}
    there = {file.path: file for file in clone.files(commit.commit, repository.folder)}
    if len(there) > MOST_FILES:
        raise GitError(f"The folder has {len(there):,} files: at most {MOST_FILES} are followed.")
    told = []
    for path, file in sorted(there.items()):
        row = known.get(path)
        if row is None or row.blob != file.blob or row.removed:
            row = row or RepositoryFile(repository=repository, path=path)
            row.blob, row.commit, row.removed = file.blob, commit.commit, False
            told.append(_file(row, clone, commit, file))
    for path in sorted(known.keys() - there.keys()):
        if not (row := known[path]).removed:
            row.removed, row.problems, row.commit = True, [], commit.commit
            row.save()
            told.append(_about(row, None))
    if told:
        valid = not any(one["problems"] for one in told)
        values = {"author": commit.author, "subject": commit.subject, "written_at": commit.written_at}
        RepositoryCommit.objects.update_or_create(
            repository=repository, commit=commit.commit, defaults={**values, "files": told, "valid": valid}
        )
    Repository.objects.filter(pk=repository.pk).update(commit=commit.commit)


def _about(row: RepositoryFile, revision: int | None) -> dict[str, Any]:
    policy = row.policy.name if row.policy else ""
    return {
        "path": row.path, "policy": policy, "revision": revision, "removed": row.removed, "problems": row.problems,
    }  # fmt: skip


def _file(row: RepositoryFile, clone: Clone, commit: Commit, file: File) -> dict[str, Any]:
    """A file that came or changed: the next revision of its policy, or its problems."""
    revision, row.problems = None, []
    try:
        if file.size is None:
            raise GitError("This is a link or another repository: only files are read.")
        if file.size > LARGEST_FILE:
            raise GitError(f"The file has {file.size:,} bytes: at most {LARGEST_FILE:,} are read.")
        with transaction.atomic():
            revision = _revision(row, clone.content(row.blob), commit)
    except ApplicationError as error:
        row.problems = _problems(error)
    row.save()
    return _about(row, revision)


def _revision(row: RepositoryFile, text: str, commit: Commit) -> int:
    name, comment = PurePosixPath(row.path).stem, commit.subject or commit.commit[:12]
    if row.policy is None:
        found = Policy.objects.filter(name=name).first()
        if found is not None and RepositoryFile.objects.filter(policy=found, removed=False).exists():
            raise Conflict(f"The policy {name} comes from another file.")
        if found is not None and not hasattr(found, "file"):
            raise Conflict(f"A policy named {name} exists already and was written here: delete it, or rename the file.")
        if found is not None:
            RepositoryFile.objects.filter(policy=found).update(policy=None)
        row.policy = found or policies.policy_create(name=name, document=text, author=None, comment=comment)
    newest = row.policy.revisions.order_by("-number")[0]
    saved = policies.revision_save(
        policy=row.policy, document=text, author=None, expected=newest.number, comment=comment, from_repository=True
    )
    values = {"commit": commit.commit, "author": commit.author, "written_at": commit.written_at, "path": row.path}
    RevisionCommit.objects.get_or_create(revision=saved, defaults=values)
    return saved.number


def _problems(error: ApplicationError) -> list[Problem]:
    found = [{"line": one.get("line") or 0, "message": _message(one)} for one in error.errors]
    return found[:50] or [{"line": 0, "message": error.detail}]


def _message(problem: Any) -> str:
    path, message = str(problem.get("path") or ""), str(problem["message"])
    return message if not path or path in message else f"{path}: {message}"
