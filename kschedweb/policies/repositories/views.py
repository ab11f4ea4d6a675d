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
def repositories(request: PageRequest) -> HttpResponseBase:
    """The repositories, and the form for another one."""
    return _save(request, None) if request.method == "POST" else _list(request, RepositoryForm())


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def repository(request: PageRequest, name: str) -> HttpResponseBase:
    """One repository: its files, its commits, and its settings."""
    found = selectors.repository_get(name)
    return _save(request, found) if request.method == "POST" else _page(request, found, form_of(found))


@requires(Action.ADMINISTER, site=True)
def _save(request: PageRequest, found: Repository | None) -> HttpResponse:
    form = RepositoryForm(request.POST)
    if form.is_valid():
        secrets = {name: form.cleaned_data[name] or None for name in ("secret", "status_token")}
        given: dict[str, Any] = {**form.cleaned_data, **secrets}
        try:
            saved = services.repository_save(user=request.user, repository=found, **given)
        except ApplicationError as error:
            add_errors(form, error)
        else:
            messages.success(request, gettext("Saved. The repository is read in a few seconds."))
            return redirect("repository", saved.name)
    return _list(request, form, 422) if found is None else _page(request, found, form, 422)


def _list(request: PageRequest, form: RepositoryForm, status: int = 200) -> HttpResponse:
    context = {"repositories": selectors.repository_list(), "form": form}
    return render(request, "policies/repositories/list.html", context, status=status)


def _page(request: PageRequest, found: Repository, form: RepositoryForm, status: int = 200) -> HttpResponse:
    context = {
        "repository": found,
        "files": found.files.select_related("policy"),
        "commits": found.commits.all()[:COMMITS_SHOWN],
        "form": form,
    }
    return render(request, "policies/repositories/detail.html", context, status=status)


@require_POST
@requires(Action.ADMINISTER, site=True)
def look(request: PageRequest, name: str) -> HttpResponse:
    """Look at the repository at the next opportunity."""
    services.repository_look_soon(user=request.user, repository=selectors.repository_get(name))
    messages.success(request, gettext("The repository is read in a few seconds."))
    return redirect("repository", name)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.ADMINISTER, site=True)
def delete(request: PageRequest, name: str) -> HttpResponse:
    """Ask whether to follow the repository no more, and do it; its policies stay."""
    found = selectors.repository_get(name)
    if request.method != "POST":
        return render(request, "policies/repositories/delete.html", {"repository": found})
    services.repository_delete(user=request.user, repository=found)
    messages.success(request, gettext("The repository is no longer followed. Its policies stay."))
    return redirect("repositories")
