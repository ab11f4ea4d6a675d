"""Changes of repositories. ``sync`` has what a look at one does."""

from __future__ import annotations

import re
import shutil
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.clusters.connecting.credentials import text_seal
from kschedweb.policies import services as policies
from kschedweb.policies.repositories.git import address_check
from kschedweb.policies.repositories.models import Repository, RepositorySecret, StatusToken
from kschedweb.policies.repositories.statuses import status_address_check
from kschedweb.policies.repositories.sync import copy_of
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

# Safe as an argument of git: no option, and nothing that git expands.
BRANCH = re.compile(r"(?!-)[A-Za-z0-9._/-]{1,200}")
BRANCHES = re.compile(r"(?!-)[A-Za-z0-9._/-]*\*[A-Za-z0-9._/-]*")
# Shorter intervals would burden the git server; longer ones would look broken.
LEAST_SECONDS, MOST_SECONDS = 10, 86_400


@transaction.atomic
def repository_save(
    *, user: User, name: str, url: str, branch: str = "main", drafts: str = "", folder: str = "", username: str = "",
    secret: str | None = None, interval: int = 60, active: bool = True, status_url: str = "",
    status_token: str | None = None, repository: Repository | None = None,
) -> Repository:  # fmt: skip
    """Create a repository, or change one. A secret that is ``None`` is kept. Raises ApplicationError at fields."""
    folder = _check_fields(name, url, branch, drafts, folder, interval)
    status_address_check(status_url, status_token or "")
    row = repository or Repository(created_by=user)
    elsewhere, told_elsewhere = row.url != url, row.status_url != status_url
    moved = elsewhere or (row.branch, row.folder) != (branch, folder)
    row.name, row.url, row.branch, row.folder, row.username = name, url, branch, folder, username
    row.drafts, row.interval, row.active, row.due_at = drafts, interval, active, None
    # Another branch or folder is read from its beginning.
    row.status_url, row.commit = status_url, "" if moved else row.commit
    if moved or told_elsewhere:
        row.told, row.status_problem = {}, ""
    conflict = Conflict.at("name", "Another repository has this name.")
    with conflict_where(Repository.objects.filter(name=name).exclude(pk=row.pk), conflict):
        row.save()
    # A secret belongs to the address that it was given for: a new address must not receive it.
    if secret is not None or elsewhere:
        _secret_set(RepositorySecret, row, secret or "")
    if status_token is not None or told_elsewhere:
        _secret_set(StatusToken, row, status_token or "")
    did = "repository.created" if repository is None else "repository.changed"
    details = {"url": url, "branch": branch, "drafts": drafts, "folder": folder, "status_url": status_url}
    audit.record(user, did, row, name, active=active, **details)
    return row


def _check_fields(name: str, url: str, branch: str, drafts: str, folder: str, interval: int) -> str:
    if not policies.NAME.fullmatch(name):
        raise ApplicationError.at("name", policies.NAME_HELP)
    if not BRANCH.fullmatch(branch) or ".." in branch:
        raise ApplicationError.at("branch", "Name a branch, such as main.")
    if drafts and (not BRANCHES.fullmatch(drafts) or ".." in drafts):
        raise ApplicationError.at("drafts", "Name branches with one star, such as feature/*.")
    cleaned = str(PurePosixPath(folder.strip().strip("/"))) if folder.strip().strip("/") else ""
    if ".." in PurePosixPath(cleaned).parts or cleaned.startswith((":", "-")):
        raise ApplicationError.at("folder", "Name a folder of the repository, such as policies/production.")
    if not LEAST_SECONDS <= interval <= MOST_SECONDS:
        raise ApplicationError.at("interval", f"Look every {LEAST_SECONDS} to {MOST_SECONDS:,} seconds.")
    # An address is shown and logged; a secret in it would be as well.
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ApplicationError.at("url", "Give user name and secret in their own fields, not in the address.")
    try:
        address_check(url)
    except ApplicationError as error:
        raise ApplicationError.at("url", error.detail) from None
    return cleaned


def _secret_set(model: type[RepositorySecret] | type[StatusToken], row: Repository, secret: str) -> None:
    sealed = model.objects.filter(pk=row.pk).first()
    if secret:
        sealed = sealed or model(repository=row)
        text_seal(sealed, secret)
        sealed.save()
    elif sealed:
        sealed.delete()


@transaction.atomic
def repository_delete(*, user: User, repository: Repository) -> None:
    """Stop following a repository. Its policies stay, and can be edited here."""
    audit.record(user, "repository.deleted", repository, repository.name, url=repository.url)
    shutil.rmtree(copy_of(repository), ignore_errors=True)
    repository.delete()


def repository_look_soon(*, user: User, repository: Repository) -> None:
    """Look at the repository at the next opportunity."""
    Repository.objects.filter(pk=repository.pk).update(due_at=None)
    audit.record(user, "repository.asked", repository, repository.name)
