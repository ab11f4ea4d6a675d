"""One look at a git repository: each commit that changes a file makes a revision of its policy, each branch drafts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.text import slugify

from kschedweb.clusters.connecting.credentials import text_open
from kschedweb.policies import services as policies
from kschedweb.policies.models import Policy
from kschedweb.policies.repositories.git import (
    LARGEST_FILE,
    LONGEST_BRANCH,
    MOST_FILES,
    Clone,
    Commit,
    File,
    GitError,
)
from kschedweb.policies.repositories.models import (
    Repository,
    RepositoryCommit,
    RepositoryFile,
    RepositorySecret,
    RevisionCommit,
)
from kschedweb.policies.repositories.statuses import statuses_tell
from kschedweb.web.errors import ApplicationError, Conflict

logger = structlog.get_logger(__name__)

Problem = dict[str, Any]
LOOK = timedelta(seconds=180)  # a look that has not ended by then died with its process
LONGEST_NAME = 63  # of a policy
UNFORESEEN = "This look failed for a reason that it did not foresee. The log of the worker says more."


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
        heads, problem = _follow(repository)
        statuses_tell(repository, heads)
    except ApplicationError as error:
        problem = error.detail
    except Exception:  # whatever others write, the repositories after this one are looked at
        logger.exception("repository_look_failed", repository=repository.name)
        problem = UNFORESEEN
    now = timezone.now()
    after = now + timedelta(seconds=repository.interval)
    Repository.objects.filter(pk=repository.pk).update(problem=problem[:500], looked_at=now, due_at=after)


def copy_of(repository: Repository) -> Path:
    """The folder of git's copy, which may be lost at any time."""
    return Path(settings.DATA_DIR) / "repositories" / f"{repository.pk}.git"


def _follow(repository: Repository) -> tuple[dict[str, str], str]:
    """Read what is new; returns the newest commit of each branch, where "" is the one that is followed.

    Beside it the problem of a draft that cannot be read, which keeps no other from being read.
    """
    sealed = RepositorySecret.objects.filter(pk=repository.pk).select_related("repository").first()
    clone = Clone(
        copy_of(repository), repository.url, repository.branch, repository.drafts, repository.username,
        text_open(sealed) if sealed else "",
    )  # fmt: skip
    head = clone.fetch()
    if head != repository.commit:
        for commit in clone.commits(repository.commit, head, repository.folder):
            _read(repository, clone, commit)
        Repository.objects.filter(pk=repository.pk).update(commit=head)
    heads, problem = clone.drafts(), ""
    for branch, name in heads.items():
        try:
            _draft(repository, clone, branch, name)
        except ApplicationError as error:
            problem = f"Branch {branch}: {error.detail}"
    for row in repository.files.exclude(branch__in=("", *heads)).select_related("policy"):
        _drop(row)
    return {"": head, **heads}, problem


@transaction.atomic
def _read(repository: Repository, clone: Clone, commit: Commit) -> None:
    """Read one commit: what changed of each file since the last one."""
    known, there = _known(repository, ""), _there(repository, clone, commit)
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
    _tell(repository, "", commit, told)
    Repository.objects.filter(pk=repository.pk).update(commit=commit.commit)


@transaction.atomic
def _draft(repository: Repository, clone: Clone, branch: str, name: str) -> None:
    """Read the newest commit of a branch: each file that differs from the followed one is a draft."""
    if len(branch) > LONGEST_BRANCH:
        raise GitError(f"Its name has {len(branch):,} characters: at most {LONGEST_BRANCH} are kept.")
    (commit,) = clone.commits("", name, repository.folder)
    followed = {row.path: row.blob for row in _known(repository, "").values() if not row.removed}
    known, there, told = _known(repository, branch), _there(repository, clone, commit), []
    for path, file in sorted(there.items()):
        if followed.get(path) == file.blob:
            continue
        row = known.pop(path, None) or RepositoryFile(repository=repository, branch=branch, path=path)
        if row.blob != file.blob:
            row.blob, row.commit = file.blob, commit.commit
            told.append(_file(row, clone, commit, file))
    for row in known.values():
        _drop(row)
    _tell(repository, branch, commit, told)


def _drop(row: RepositoryFile) -> None:
    """A draft that is merged or gone goes with its policy, unless a live scheduler uses that."""
    try:
        with transaction.atomic():
            if row.policy is not None:
                policies.policy_delete(policy=row.policy, author=None)
            row.delete()
    except Conflict:
        RepositoryFile.objects.filter(pk=row.pk).update(removed=True, blob="")


def _known(repository: Repository, branch: str) -> dict[str, RepositoryFile]:
    rows = repository.files.filter(branch=branch).select_related("policy").select_for_update(of=("self",))
    return {one.path: one for one in rows}


def _there(repository: Repository, clone: Clone, commit: Commit) -> dict[str, File]:
    found = {file.path: file for file in clone.files(commit.commit, repository.folder)}
    if len(found) > MOST_FILES:
        raise GitError(f"The folder has {len(found):,} files: at most {MOST_FILES} are followed.")
    return found


def _tell(repository: Repository, branch: str, commit: Commit, told: list[dict[str, Any]]) -> None:
    """Keep what came of the files that a commit changed."""
    if told:
        valid = not any(one["problems"] for one in told)
        values = {"author": commit.author, "subject": commit.subject, "written_at": commit.written_at, "branch": branch}
        RepositoryCommit.objects.update_or_create(
            repository=repository, commit=commit.commit, defaults={**values, "files": told, "valid": valid}
        )


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
    name, comment = _name(row), commit.subject or commit.commit[:12]
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


def _name(row: RepositoryFile) -> str:
    stem = PurePosixPath(row.path).stem
    branch = slugify(row.branch.replace("/", "-"))
    return f"{stem}-{branch}"[:LONGEST_NAME].rstrip("-") if branch else stem


def _problems(error: ApplicationError) -> list[Problem]:
    found = [{"line": one.get("line") or 0, "message": _message(one)} for one in error.errors]
    return found[:50] or [{"line": 0, "message": error.detail}]


def _message(problem: Any) -> str:
    path, message = str(problem.get("path") or ""), str(problem["message"])
    return message if not path or path in message else f"{path}: {message}"
