"""The checks of `manage.py doctor` on git repositories that policies come from."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.clusters.connecting.addresses import REPOSITORIES
from kschedweb.policies.repositories.git import OLDEST, address_check, git_version
from kschedweb.policies.repositories.models import Repository
from kschedweb.policies.repositories.statuses import status_address_check
from kschedweb.web.doctor import DoctorFinding, failure, ok
from kschedweb.web.errors import ApplicationError


def repositories_examine() -> Iterator[DoctorFinding]:
    followed = list(Repository.objects.filter(active=True))
    installed, oldest = git_version(), ".".join(map(str, OLDEST))
    if followed and installed < OLDEST:
        problem = f"git {'.'.join(map(str, installed))} is too old" if installed else "The program git is not installed"
        yield failure(
            f"{problem}: policies from git are not read.", f"Install git {oldest} or newer where web and workers run."
        )
    for row in followed:
        try:
            address_check(row.url)
        except ApplicationError as error:
            yield failure(
                f"Repository {row.name}: {error.detail}", f"Change {REPOSITORIES.variable}, or follow it no more."
            )
        try:
            status_address_check(row.status_url)
        except ApplicationError as error:
            advice = f"Change {REPOSITORIES.variable}, or tell no statuses."
            yield failure(f"Statuses of repository {row.name}: {error.detail}", advice)
    yield ok(f"{len(followed)} followed")
