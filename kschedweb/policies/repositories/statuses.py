"""Report to the git server whether its branches are valid: a status for the newest commit of each.

Two APIs are known by their addresses: GitHub's, which Gitea and Forgejo offer too, and GitLab's. A status that was not
accepted is sent again at the next look.
"""

from __future__ import annotations

import json
import re

from django.conf import settings
from django.urls import reverse

from kschedweb.clusters.connecting.addresses import REPOSITORIES, endpoint_check
from kschedweb.clusters.connecting.credentials import text_open
from kschedweb.clusters.connecting.messages import Posted, post_message
from kschedweb.policies.repositories.models import Repository, RepositoryFile, StatusToken
from kschedweb.web.errors import ApplicationError
from kschedweb.web.links import build_link

GITHUB, GITLAB = re.compile(r"/repos/[\w.-]+/[\w.-]+\Z"), re.compile(r"/api/v4/projects/\d+\Z")
CARRIES = "the token"
# Statuses sent at one look.
MAX_STATUSES = 20
# Characters that GitHub accepts of a description.
LONGEST = 140


def status_address_check(url: str, token: str = "") -> None:
    """Raise ApplicationError at a field if statuses cannot be sent to ``url`` with ``token``."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        message = "This is not a token: it must be one word of printable ASCII characters."
        raise ApplicationError.at("status_token", message)
    if not url:
        return
    if not (GITHUB.search(url) or GITLAB.search(url)):
        message = (
            "Name the repository in its server's API: https://…/repos/OWNER/NAME, or https://…/api/v4/projects/NUMBER."
        )
        raise ApplicationError.at("status_url", message)
    try:
        endpoint_check(url, carries=CARRIES, rule=REPOSITORIES)
    except ApplicationError as error:
        raise ApplicationError.at("status_url", error.detail) from None


def statuses_tell(repository: Repository, heads: dict[str, str]) -> None:
    """Send the statuses that the server does not have yet for ``heads``, the newest commit of each branch."""
    if not repository.status_url:
        return
    files: dict[str, list[RepositoryFile]] = {branch: [] for branch in heads}
    for file in repository.files.filter(branch__in=heads, removed=False):
        files[file.branch].append(file)
    reported = {branch: status for branch, status in repository.told.items() if branch in heads}
    now = {branch: [commit, not any(file.problems for file in files[branch])] for branch, commit in heads.items()}
    problem = ""
    for branch in [branch for branch in heads if reported.get(branch) != now[branch]][:MAX_STATUSES]:
        answer = _post_status(repository, branch, heads[branch], files[branch])
        if answer.ok:
            reported[branch] = now[branch]
        else:
            problem = answer.error
        if answer.status is None:
            # A server that gave no answer will not answer about the others either.
            break
    Repository.objects.filter(pk=repository.pk).update(told=reported, status_problem=problem[:500])


def _post_status(repository: Repository, branch: str, commit: str, files: list[RepositoryFile]) -> Posted:
    wrong = [file for file in files if file.problems]
    payload = {"description": _describe_files(files, wrong)[:LONGEST]}
    if settings.SITE_URL:
        payload["target_url"] = build_link(reverse("repository", args=[repository.name]))
    name = f"kschedweb/{repository.name}"
    if GITLAB.search(repository.status_url):
        state = "failed" if wrong else "success"
        payload |= {"state": state, "name": name, "ref": branch or repository.branch}
    else:
        payload |= {"state": "failure" if wrong else "success", "context": name}
    sealed = StatusToken.objects.filter(pk=repository.pk).select_related("repository").first()
    try:
        headers = {"Authorization": f"Bearer {text_open(sealed)}"} if sealed else {}
    except ApplicationError as error:
        return Posted(error=error.detail)
    url = f"{repository.status_url}/statuses/{commit}"
    return post_message(url, json.dumps(payload), headers=headers, carries=CARRIES, rule=REPOSITORIES)


def _describe_files(files: list[RepositoryFile], wrong: list[RepositoryFile]) -> str:
    if not wrong:
        return f"Policies that were read: {len(files)}, all valid."
    problem = wrong[0].problems[0]
    line = f", line {problem['line']}" if problem["line"] else ""
    more = f"Not valid: {len(wrong)} of {len(files)}. " if len(wrong) > 1 else ""
    return f"{more}{wrong[0].path}{line}: {problem['message']}"
