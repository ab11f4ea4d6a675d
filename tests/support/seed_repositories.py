"""A git repository that was followed, without a repository behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
PROBLEM_MESSAGE = "percentageOfNodesToScore: Invalid value: 500: not in valid range [0-100]"


def repositories(rows: int, user: User | None, name: str = "platform") -> str:
    """``rows`` repositories; the last, whose name is returned, has as many files and commits."""
    from kschedweb.policies.repositories.models import Repository, RepositoryCommit, RepositoryFile

    for number in range(rows):
        repository, _ = Repository.objects.get_or_create(
            name=name if number == rows - 1 else f"{name}-{number}",
            defaults={"url": "https://git.example.com/policies", "folder": "policies", "commit": f"{number:040x}"}
            | {"active": False, "looked_at": AT, "created_by": user},
        )
    for number in range(rows):
        problems = [{"line": 3, "message": PROBLEM_MESSAGE}]
        path, commit = f"policies/file-{number}.yaml", f"{number:040x}"
        RepositoryFile.objects.create(repository=repository, path=path, blob=commit, commit=commit, problems=problems)
        file = {"path": path, "policy": "", "revision": None, "removed": False, "problems": problems}
        RepositoryCommit.objects.create(
            repository=repository, commit=commit, author="Ada <ada@example.com>", subject="Change it", written_at=AT,
            files=[file], valid=False,
        )  # fmt: skip
    return repository.name
