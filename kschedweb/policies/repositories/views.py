"""Pages of the git repositories that policies come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.policies.repositories import selectors, services
from kschedweb.policies.repositories.forms import RepositoryForm, form_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.repositories.models import Repository

COMMITS_SHOWN = 30


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def repository_list(request: PageRequest) -> HttpResponseBase:
    """Show the repositories, and the form for another one."""
    return _save_repository(request, None) if request.method == "POST" else _render_list(request, RepositoryForm())


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def repository_detail(request: PageRequest, name: str) -> HttpResponseBase:
    """Show one repository: its files, its commits, and its settings."""
    repository = selectors.repository_get(name)
    return (
        _save_repository(request, repository)
        if request.method == "POST"
        else _render_detail(request, repository, form_of(repository))
    )


@requires(Action.ADMINISTER, site=True)
def _save_repository(request: PageRequest, repository: Repository | None) -> HttpResponse:
    form = RepositoryForm(request.POST)
    if form.is_valid():
        secrets = {name: form.cleaned_data[name] or None for name in ("secret", "status_token")}
        values: dict[str, Any] = {**form.cleaned_data, **secrets}
        try:
            saved = services.repository_save(user=request.user, repository=repository, **values)
        except ApplicationError as error:
            add_errors(form, error)
        else:
            messages.success(request, gettext("Saved. The repository is read in a few seconds."))
            return redirect("repository", saved.name)
    return _render_list(request, form, 422) if repository is None else _render_detail(request, repository, form, 422)


def _render_list(request: PageRequest, form: RepositoryForm, status: int = 200) -> HttpResponse:
    context = {"repositories": selectors.repository_list(), "form": form}
    return render(request, "policies/repositories/list.html", context, status=status)


def _render_detail(
    request: PageRequest, repository: Repository, form: RepositoryForm, status: int = 200
) -> HttpResponse:
    context = {
        "repository": repository,
        "files": repository.files.select_related("policy"),
        "commits": repository.commits.all()[:COMMITS_SHOWN],
        "form": form,
    }
    return render(request, "policies/repositories/detail.html", context, status=status)


@require_POST
@requires(Action.ADMINISTER, site=True)
def repository_look(request: PageRequest, name: str) -> HttpResponse:
    """Look at the repository at the next opportunity."""
    services.repository_look_soon(user=request.user, repository=selectors.repository_get(name))
    messages.success(request, gettext("The repository is read in a few seconds."))
    return redirect("repository", name)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.ADMINISTER, site=True)
def repository_delete(request: PageRequest, name: str) -> HttpResponse:
    """Ask for confirmation, then stop following the repository. Its policies stay."""
    repository = selectors.repository_get(name)
    if request.method != "POST":
        return render(request, "policies/repositories/delete.html", {"repository": repository})
    services.repository_delete(user=request.user, repository=repository)
    messages.success(request, gettext("The repository is no longer followed. Its policies stay."))
    return redirect("repositories")
