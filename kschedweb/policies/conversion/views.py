"""The page that shows a classic policy as a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.engine.releases.classic.descriptions import DESCRIPTIONS
from kschedweb.policies import selectors
from kschedweb.policies.conversion import selectors as conversion
from kschedweb.policies.conversion import services
from kschedweb.policies.conversion.forms import ProfileForm
from kschedweb.policies.download import yaml_response
from kschedweb.policies.revisions.views import number_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors, page_part

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.models import Revision


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def policy_profile(request: PageRequest, name: str) -> HttpResponseBase:
    revision = _get_revision(request, name)
    if request.method == "POST":
        return _save_profile(request, revision)
    # A policy name has at most 63 characters; "-profile" takes 8 of them.
    return _render_page(request, revision, ProfileForm(initial={"name": f"{name[:55]}-profile"}))


@requires(Action.EDIT, site=True)
def _save_profile(request: PageRequest, revision: Revision) -> HttpResponse:
    form = ProfileForm(request.POST)
    status = 422
    if form.is_valid():
        try:
            created = services.profile_create(revision=revision, name=form.cleaned_data["name"], author=request.user)
        except ApplicationError as error:
            status = error.status
            add_errors(form, error)
        else:
            messages.success(
                request,
                gettext("Policy %(made)s created from %(policy)s.")
                % {"made": created.name, "policy": revision.policy.name},
            )
            return redirect("policy", created.name)
    return _render_page(request, revision, form, status)


@require_safe
@requires(Action.VIEW)
@page_part
def policy_profile_download(request: PageRequest, name: str) -> HttpResponse:
    revision = _get_revision(request, name)
    text = conversion.render_document(revision, conversion.convert_revision(revision))
    return yaml_response(text, f"{name}-{revision.number}-profile")


def _get_revision(request: PageRequest, name: str) -> Revision:
    return selectors.revision_get(selectors.policy_get(name), number_of(request, "revision"))


def _render_page(request: PageRequest, revision: Revision, form: ProfileForm, status: int = 200) -> HttpResponse:
    converted = conversion.convert_revision(revision)
    context = {
        "policy": revision.policy,
        "revision": revision,
        "may_change": request.user.everywhere(Action.EDIT),
        "conversion": converted,
        "described": DESCRIPTIONS,
        "document": conversion.render_document(revision, converted),
        "form": form,
    }
    return render(request, "policies/profile.html", context, status=status)
