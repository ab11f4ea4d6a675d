"""Tells the git server whether what its branches hold is valid: a status for the newest commit of each.

Two forms are known, by the address: that of GitHub, which Gitea and Forgejo take too, and that of GitLab. What was not
taken is told again at the next look.
"""

from __future__ import annotations

import json
import re

from django.conf import settings
from django.urls import reverse

from kschedweb.clusters.connecting.addresses import REPOSITORIES, endpoint_check
from kschedweb.clusters.connecting.credentials import text_open
from kschedweb.clusters.connecting.posting import Posted, post
from kschedweb.policies.repositories.models import Repository, RepositoryFile, StatusToken
from kschedweb.web.errors import ApplicationError
from kschedweb.web.links import link

GITHUB, GITLAB = re.compile(r"/repos/[\w.-]+/[\w.-]+\Z"), re.compile(r"/api/v4/projects/\d+\Z")
CARRIES = "the token"
MOST = 20  # at one look
LONGEST = 140  # characters that GitHub takes of a description


def status_address_check(url: str, token: str = "") -> None:
    """Raise ApplicationError at a field where statuses cannot be told to ``url`` with ``token``."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        said = "This is not a token: it must be one word of printable ASCII characters."
        raise ApplicationError.at("status_token", said)
    if not url:
        return
    if not (GITHUB.search(url) or GITLAB.search(url)):
        said = (
            "Name the repository in its server's API: https://…/repos/OWNER/NAME, or https://…/api/v4/projects/NUMBER."
        )
        raise ApplicationError.at("status_url", said)
    try:
        endpoint_check(url, carries=CARRIES, rule=REPOSITORIES)
    except ApplicationError as error:
        raise ApplicationError.at("status_url", error.detail) from None


def statuses_tell(repository: Repository, heads: dict[str, str]) -> None:
    """Tell of each branch in ``heads``, whose newest commits they are, what the server does not know yet."""
    if not repository.status_url:
        return
    files: dict[str, list[RepositoryFile]] = {branch: [] for branch in heads}
    for file in repository.files.filter(branch__in=heads, removed=False):
        files[file.branch].append(file)
    told = {branch: known for branch, known in repository.told.items() if branch in heads}
    now = {branch: [commit, not any(file.problems for file in files[branch])] for branch, commit in heads.items()}
    problem = ""
    for branch in [branch for branch in heads if told.get(branch) != now[branch]][:MOST]:
        answer = _tell(repository, branch, heads[branch], files[branch])
        if answer.ok:
            told[branch] = now[branch]
        else:
            problem = answer.error
        if answer.status is None:
            break  # nor would it answer about the others
    Repository.objects.filter(pk=repository.pk).update(told=told, status_problem=problem[:500])


def _tell(repository: Repository, branch: str, commit: str, files: list[RepositoryFile]) -> Posted:
    wrong = [file for file in files if file.problems]
    about = {"description": _description(files, wrong)[:LONGEST]}
    if settings.SITE_URL:
        about["target_url"] = link(reverse("repository", args=[repository.name]))
    name = f"kschedweb/{repository.name}"
    if GITLAB.search(repository.status_url):
        state = "failed" if wrong else "success"
        about |= {"state": state, "name": name, "ref": branch or repository.branch}
    else:
        about |= {"state": "failure" if wrong else "success", "context": name}
    sealed = StatusToken.objects.filter(pk=repository.pk).select_related("repository").first()
    try:
        headers = {"Authorization": f"Bearer {text_open(sealed)}"} if sealed else {}
    except ApplicationError as error:
        return Posted(error=error.detail)
    url = f"{repository.status_url}/statuses/{commit}"
    return post(url, json.dumps(about), headers=headers, carries=CARRIES, rule=REPOSITORIES)


def _description(files: list[RepositoryFile], wrong: list[RepositoryFile]) -> str:
    if not wrong:
        return f"Policies that were read: {len(files)}, all valid."
    problem = wrong[0].problems[0]
    line = f", line {problem['line']}" if problem["line"] else ""
    more = f"Not valid: {len(wrong)} of {len(files)}. " if len(wrong) > 1 else ""
    return f"{more}{wrong[0].path}{line}: {problem['message']}"
