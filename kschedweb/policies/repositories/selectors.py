"""Reads repositories, and the files that policies come from."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404

from kschedweb.policies.models import Policy
from kschedweb.policies.repositories.models import Repository, RepositoryCommit, RepositoryFile
from kschedweb.web.errors import NotFound


def repository_list() -> QuerySet[Repository]:
    return Repository.objects.all()


def repository_get(name: str) -> Repository:
    """Return the repository ``name``. Raises Http404."""
    repository = Repository.objects.filter(name=name).first()
    if repository is None:
        raise Http404(f"There is no repository {name}.")
    return repository


def file_of(policy: Policy) -> RepositoryFile | None:
    """Return the file that ``policy`` comes from; ``None`` if it is written here."""
    return RepositoryFile.objects.filter(policy=policy).select_related("repository").first()


def commit_status(repository: Repository, commit: str) -> RepositoryCommit:
    """Return the result of ``commit``, by default of the last one that changed files. Raises NotFound."""
    repository_commit = repository.commits.filter(commit=commit).first() if commit else repository.commits.first()
    if repository_commit is None:
        subject = f"Commit {commit}" if commit else "No commit"
        raise NotFound(f"{subject} was read from repository {repository.name}, or it changed no file of its folder.")
    return repository_commit
