"""One look at a git repository: each new commit becomes revisions of policies, each other branch becomes drafts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any, TypedDict

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

# A look that has not ended by then died with its process.
LOOK = timedelta(seconds=180)
# Characters of a policy's name.
LONGEST_NAME = 63
UNFORESEEN = "This look failed for a reason that it did not foresee. The log of the worker says more."


class FileProblem(TypedDict):
    line: int  # 0 for the whole file
    message: str


class FileReport(TypedDict):
    """The result of a commit for one file."""

    path: str
    policy: str  # "" if the file belongs to none
    revision: int | None
    removed: bool
    problems: list[FileProblem]


def claim_due_repositories() -> list[Repository]:
    """Claim the repositories that are due. Each is claimed by one caller only."""
    now, repositories = timezone.now(), []
    for row in Repository.objects.filter(Q(due_at=None) | Q(due_at__lte=now), active=True):
        # The update matches the old due_at, so that only one of several workers gets the row.
        claimed = Repository.objects.filter(pk=row.pk, due_at=row.due_at).update(due_at=now + LOOK)
        repositories += [row] if claimed else []
    return repositories


def repository_look(repository: Repository) -> None:
    """Fetch the branch and read each commit since the last look. A failure is kept in ``problem``."""
    problem = ""
    try:
        heads, problem = _read_new_commits(repository)
        statuses_tell(repository, heads)
    except ApplicationError as error:
        problem = error.detail
    # A repository may hold anything: the repositories after this one must still be looked at.
    except Exception:
        logger.exception("repository_look_failed", repository=repository.name)
        problem = UNFORESEEN
    now = timezone.now()
    after = now + timedelta(seconds=repository.interval)
    Repository.objects.filter(pk=repository.pk).update(problem=problem[:500], looked_at=now, due_at=after)


def copy_of(repository: Repository) -> Path:
    """Return the folder of git's copy, which may be lost at any time."""
    return Path(settings.DATA_DIR) / "repositories" / f"{repository.pk}.git"


def _read_new_commits(repository: Repository) -> tuple[dict[str, str], str]:
    """Read what is new. Returns the newest commit of each branch ("" is the followed one) and a problem.

    The problem is that of a draft that cannot be read. It does not keep other drafts from being read.
    """
    sealed = RepositorySecret.objects.filter(pk=repository.pk).select_related("repository").first()
    clone = Clone(
        copy_of(repository), repository.url, repository.branch, repository.drafts, repository.username,
        text_open(sealed) if sealed else "",
    )  # fmt: skip
    head = clone.fetch()
    if head != repository.commit:
        for commit in clone.list_commits(repository.commit, head, repository.folder):
            _read_commit(repository, clone, commit)
        Repository.objects.filter(pk=repository.pk).update(commit=head)
    heads, problem = clone.draft_heads(), ""
    for branch, name in heads.items():
        try:
            _read_draft(repository, clone, branch, name)
        except ApplicationError as error:
            problem = f"Branch {branch}: {error.detail}"
    for row in repository.files.exclude(branch__in=("", *heads)).select_related("policy"):
        _drop_draft(row)
    return {"": head, **heads}, problem


@transaction.atomic
def _read_commit(repository: Repository, clone: Clone, commit: Commit) -> None:
    """Read one commit: each file that it changed."""
    known_files, files = _known_files(repository, ""), _list_files(repository, clone, commit)
    reports = []
    for path, file in sorted(files.items()):
        row = known_files.get(path)
        if row is None or row.blob != file.blob or row.removed:
            row = row or RepositoryFile(repository=repository, path=path)
            row.blob, row.commit, row.removed = file.blob, commit.commit, False
            reports.append(_read_file(row, clone, commit, file))
    for path in sorted(known_files.keys() - files.keys()):
        if not (row := known_files[path]).removed:
            row.removed, row.problems, row.commit = True, [], commit.commit
            row.save()
            reports.append(_file_report(row, None))
    _record_commit(repository, "", commit, reports)
    # In the same transaction as the revisions, so that a commit is never read twice.
    Repository.objects.filter(pk=repository.pk).update(commit=commit.commit)


@transaction.atomic
def _read_draft(repository: Repository, clone: Clone, branch: str, name: str) -> None:
    """Read the newest commit of a branch. Each file that differs from the followed branch is a draft."""
    if len(branch) > LONGEST_BRANCH:
        raise GitError(f"Its name has {len(branch):,} characters: at most {LONGEST_BRANCH} are kept.")
    (commit,) = clone.list_commits("", name, repository.folder)
    followed = {row.path: row.blob for row in _known_files(repository, "").values() if not row.removed}
    known_files, files, reports = _known_files(repository, branch), _list_files(repository, clone, commit), []
    for path, file in sorted(files.items()):
        if followed.get(path) == file.blob:
            continue
        row = known_files.pop(path, None) or RepositoryFile(repository=repository, branch=branch, path=path)
        if row.blob != file.blob:
            row.blob, row.commit = file.blob, commit.commit
            reports.append(_read_file(row, clone, commit, file))
    for row in known_files.values():
        _drop_draft(row)
    _record_commit(repository, branch, commit, reports)


def _drop_draft(row: RepositoryFile) -> None:
    """Delete a draft that is merged or gone, with its policy. A policy that a live scheduler uses stays."""
    try:
        with transaction.atomic():
            if row.policy is not None:
                policies.policy_delete(policy=row.policy, author=None)
            row.delete()
    except Conflict:
        RepositoryFile.objects.filter(pk=row.pk).update(removed=True, blob="")


def _known_files(repository: Repository, branch: str) -> dict[str, RepositoryFile]:
    rows = repository.files.filter(branch=branch).select_related("policy").select_for_update(of=("self",))
    return {row.path: row for row in rows}


def _list_files(repository: Repository, clone: Clone, commit: Commit) -> dict[str, File]:
    files = {file.path: file for file in clone.list_files(commit.commit, repository.folder)}
    if len(files) > MOST_FILES:
        raise GitError(f"The folder has {len(files):,} files: at most {MOST_FILES} are followed.")
    return files


def _record_commit(repository: Repository, branch: str, commit: Commit, reports: list[FileReport]) -> None:
    """Keep the result for each file that a commit changed."""
    if reports:
        valid = not any(report["problems"] for report in reports)
        values = {"author": commit.author, "subject": commit.subject, "written_at": commit.written_at, "branch": branch}
        RepositoryCommit.objects.update_or_create(
            repository=repository, commit=commit.commit, defaults={**values, "files": reports, "valid": valid}
        )


def _file_report(row: RepositoryFile, revision: int | None) -> FileReport:
    policy = row.policy.name if row.policy else ""
    return {
        "path": row.path, "policy": policy, "revision": revision, "removed": row.removed, "problems": row.problems,
    }  # fmt: skip


def _read_file(row: RepositoryFile, clone: Clone, commit: Commit, file: File) -> FileReport:
    """Save a new or changed file as the next revision of its policy, or keep its problems. Returns the report of the
    file.
    """
    revision, row.problems = None, []
    try:
        if file.size is None:
            raise GitError("This is a link or another repository: only files are read.")
        if file.size > LARGEST_FILE:
            raise GitError(f"The file has {file.size:,} bytes: at most {LARGEST_FILE:,} are read.")
        with transaction.atomic():
            revision = _save_revision(row, clone.read_content(row.blob), commit)
    except ApplicationError as error:
        row.problems = _list_problems(error)
    row.save()
    return _file_report(row, revision)


def _save_revision(row: RepositoryFile, text: str, commit: Commit) -> int:
    name, comment = _policy_name(row), commit.subject or commit.commit[:12]
    if row.policy is None:
        policy = Policy.objects.filter(name=name).first()
        if policy is not None and RepositoryFile.objects.filter(policy=policy, removed=False).exists():
            raise Conflict(f"The policy {name} comes from another file.")
        if policy is not None and not hasattr(policy, "file"):
            raise Conflict(f"A policy named {name} exists already and was written here: delete it, or rename the file.")
        if policy is not None:
            RepositoryFile.objects.filter(policy=policy).update(policy=None)
        row.policy = policy or policies.policy_create(name=name, document=text, author=None, comment=comment)
    newest = row.policy.revisions.order_by("-number")[0]
    saved = policies.revision_save(
        policy=row.policy, document=text, author=None, expected=newest.number, comment=comment, from_repository=True
    )
    values = {"commit": commit.commit, "author": commit.author, "written_at": commit.written_at, "path": row.path}
    RevisionCommit.objects.get_or_create(revision=saved, defaults=values)
    return saved.number


def _policy_name(row: RepositoryFile) -> str:
    stem = PurePosixPath(row.path).stem
    branch = slugify(row.branch.replace("/", "-"))
    return f"{stem}-{branch}"[:LONGEST_NAME].rstrip("-") if branch else stem


def _list_problems(error: ApplicationError) -> list[FileProblem]:
    return [_to_file_problem(problem) for problem in error.errors[:50]] or [{"line": 0, "message": error.detail}]


def _to_file_problem(problem: Any) -> FileProblem:
    path, message = str(problem.get("path") or ""), str(problem["message"])
    text = message if not path or path in message else f"{path}: {message}"
    return {"line": problem.get("line") or 0, "message": text}
