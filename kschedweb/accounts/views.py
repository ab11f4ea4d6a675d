"""Pages of people: login, password, settings, tokens, people, audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from django.conf import settings as site
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.views import (
    LoginView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts import grants as granting
from kschedweb.accounts import selectors, services
from kschedweb.accounts.filters import AuditFilter, UserFilter
from kschedweb.accounts.forms import DisplayForm, GrantForm, LoginForm, PasswordForm, PersonForm, RoleForm, TokenForm
from kschedweb.accounts.lockout import count_mail
from kschedweb.accounts.password_reset import MailForm, RenewForm
from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.accounts.signin.local import ways_in
from kschedweb.accounts.signin.views import SiteLogoutView
from kschedweb.accounts.tasks import mail_password_links
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import csv_response
from kschedweb.web.languages import language_of
from kschedweb.web.news import growing_page, with_news
from kschedweb.web.pages import page_part
from kschedweb.web.pagination import in_pieces

if TYPE_CHECKING:
    from django.forms import Form
    from django.http import HttpResponse, StreamingHttpResponse

    from kschedweb.accounts.typing import PageRequest

PAGE_SIZE = 50
# Rows of one download.
CSV_ROWS = 100_000
CSV_FIELDS = ("at", "actor_name", "verb", "object_type", "object_id", "object_name", "details", "address")


class SiteLoginView(LoginView):
    """Django's login view: it rotates the session key, and refuses addresses of other sites in `next`.

    Somebody with a second factor is asked for it before the session begins.
    """

    template_name = "accounts/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.get_user()
        started = Login(user=user, redirect_url=self.get_success_url())
        response: HttpResponse = perform_password_login(self.request, {"username": user.get_username()}, started)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, object]:
        return super().get_context_data(**kwargs) | ways_in()


login = SiteLoginView.as_view()
logout = SiteLogoutView.as_view()


class PasswordForgottenView(PasswordResetView):
    """A page that answers the same for every address, and as fast. Without mail it says whom to ask."""

    template_name = "accounts/password_forgotten.html"
    form_class = MailForm
    success_url = reverse_lazy("password-mailed")

    def get_context_data(self, **kwargs: Any) -> dict[str, object]:
        return super().get_context_data(**kwargs) | ways_in()

    def form_valid(self, form: Any) -> HttpResponse:
        if not site.EMAIL_URL:
            raise ApplicationError("This site sends no mail. Ask an admin for a temporary password.", status=409)
        count_mail(self.request, form.cleaned_data["email"])
        mail_password_links.delay(form.cleaned_data["email"], self.request.get_host(), https=self.request.is_secure())
        return redirect(self.success_url)


password_forgotten = PasswordForgottenView.as_view()
password_mailed = PasswordResetDoneView.as_view(template_name="accounts/password_mailed.html")
password_renew = page_part(
    PasswordResetConfirmView.as_view(
        template_name="accounts/password_renew.html", form_class=RenewForm, success_url=reverse_lazy("login")
    )
)


def add_errors(form: Form, error: ApplicationError) -> None:
    """Show a service's errors beside the fields that they name, and the rest above the form."""
    field_errors = [item for item in error.errors if item["path"] in form.fields]
    for item in field_errors:
        form.add_error(item["path"], item["message"])
    if not field_errors:
        form.add_error(None, error.detail)


@never_cache
@sensitive_post_parameters()
@requires(Action.VIEW, with_temporary_password=True)
def change_password(request: PageRequest) -> HttpResponse:
    """Change the password, and lead on to the page of this site that the person came for."""
    onwards = request.POST.get("next", request.GET.get("next", ""))
    if not url_has_allowed_host_and_scheme(onwards, {request.get_host()}, require_https=request.is_secure()):
        onwards = ""
    # Leading on to this page again would look as if nothing had happened.
    if urlsplit(onwards).path == request.path:
        onwards = ""
    form = PasswordForm(request, request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.password_change(user=request.user, password=form.cleaned_data["new_password1"])
        update_session_auth_hash(request, request.user)
        messages.success(request, gettext("Password changed. Your other sessions have ended."))
        return HttpResponseRedirect(onwards or reverse("settings"))
    return render(request, "accounts/password.html", {"form": form, "next": onwards})


@requires(Action.VIEW)
def show_settings(request: PageRequest) -> HttpResponse:
    """Show account, display, tokens and sessions. The display is changed here."""
    now = {name: getattr(request.user, name) for name in DisplayForm.base_fields}
    form = DisplayForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        services.user_display(user=request.user, **form.cleaned_data)
        with translation.override(language_of(request)):
            messages.success(request, gettext("Your display settings are saved."))
        response = redirect("settings")
        # The language that was chosen before the login no longer counts.
        response.delete_cookie(site.LANGUAGE_COOKIE_NAME)
        return response
    active = [token for token in selectors.token_list(request.user) if token.current_state == "active"]
    return render(request, "accounts/settings.html", {"active_tokens": len(active), "form": form})


@require_POST
@requires(Action.VIEW)
def sessions_end(request: PageRequest) -> HttpResponse:
    services.sessions_end(user=request.user)
    update_session_auth_hash(request, request.user)
    messages.success(request, gettext("Your other sessions have ended."))
    return redirect("settings")


@never_cache
@requires(Action.VIEW)
def list_tokens(request: PageRequest) -> HttpResponse:
    """Show the person's tokens. The answer to a creation shows the key, only this once."""
    form = TokenForm(request.POST or None, user=request.user)
    context: dict[str, object] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            token, key = services.token_create(user=request.user, **form.cleaned_data)
        except ApplicationError as error:
            add_errors(form, error)
        else:
            context = {"form": TokenForm(user=request.user), "created": token, "key": key}
    context["tokens"] = selectors.token_list(request.user)
    return render(request, "accounts/tokens.html", context)


@require_POST
@requires(Action.VIEW)
def token_revoke(request: PageRequest, token_id: int) -> HttpResponse:
    token = services.token_revoke(actor=request.user, token=selectors.token_get(request.user, token_id))
    messages.success(request, gettext("The token %(token)s no longer works.") % {"token": token.name})
    return redirect("tokens")


@require_safe
@requires(Action.ADMINISTER)
def person_tokens(request: PageRequest, username: str) -> HttpResponse:
    """Show somebody's tokens to an admin, who may revoke them."""
    person = selectors.user_get(username)
    context = {"person": person, "tokens": selectors.token_list(person)}
    return render(request, "accounts/person_tokens.html", context)


@require_POST
@requires(Action.ADMINISTER)
def person_token_revoke(request: PageRequest, username: str, token_id: int) -> HttpResponse:
    person = selectors.user_get(username)
    token = services.token_revoke(actor=request.user, token=selectors.token_get(person, token_id))
    messages.success(request, gettext("The token %(token)s no longer works.") % {"token": token.name})
    return redirect("person-tokens", username)


def _render_people(request: PageRequest, form: PersonForm, **context: Any) -> HttpResponse:
    filters = UserFilter(request.GET, queryset=selectors.user_list())
    page = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    roles = RoleForm.base_fields["role"].choices  # type: ignore[attr-defined]
    context |= {"form": form, "filters": filters, "page": page, "roles": roles}
    return render(request, "accounts/people.html", context)


@never_cache
@requires(Action.ADMINISTER)
def list_people(request: PageRequest) -> HttpResponse:
    """Show everybody. The answer to a creation shows the temporary password, only this once."""
    form = PersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user, secret = services.user_create(actor=request.user, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        except ApplicationError as error:
            add_errors(form, error)
        else:
            return _render_people(request, PersonForm(), person=user, temporary_password=secret)
    return _render_people(request, form)


@require_POST
@never_cache
@requires(Action.ADMINISTER)
def person_password(request: PageRequest, username: str) -> HttpResponse:
    user = selectors.user_get(username)
    try:
        secret = services.user_reset_password(actor=request.user, user=user)
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("people")
    if user == request.user:
        user.refresh_from_db()
        update_session_auth_hash(request, user)
    return _render_people(request, PersonForm(), person=user, temporary_password=secret)


@require_POST
@requires(Action.ADMINISTER)
def person_factors_remove(request: PageRequest, username: str) -> HttpResponse:
    """Remove lost second factors: the person logs in with the password alone until they add another one."""
    user = selectors.user_get(username)
    services.user_remove_factors(actor=request.user, user=user)
    messages.success(request, gettext("%(name)s no longer has a second factor.") % {"name": user.username})
    return redirect("people")


@require_POST
@requires(Action.ADMINISTER)
def person_role(request: PageRequest, username: str) -> HttpResponse:
    form = RoleForm(request.POST)
    if not form.is_valid():
        raise ApplicationError("There is no such role.")
    try:
        user = services.user_change_role(actor=request.user, user=selectors.user_get(username), **form.cleaned_data)
    except ApplicationError as error:
        messages.error(request, error.detail)
    else:
        messages.success(
            request,
            gettext("%(username)s is now %(role)s.")
            % {"username": user.username, "role": user.get_role_display().lower()},
        )
    return redirect("people")


@require_POST
@requires(Action.ADMINISTER)
def person_active(request: PageRequest, username: str) -> HttpResponse:
    active = request.POST.get("active") == "true"
    try:
        user = services.user_set_active(actor=request.user, user=selectors.user_get(username), active=active)
    except ApplicationError as error:
        messages.error(request, error.detail)
    else:
        messages.success(
            request,
            (
                gettext("%(username)s can log in again.")
                if user.is_active
                else gettext("%(username)s can no longer log in.")
            )
            % {"username": user.username},
        )
    return redirect("people")


@requires(Action.ADMINISTER)
def list_grants(request: PageRequest) -> HttpResponse:
    """Show the grants; a POST gives one more."""
    names = granting.cluster_names()
    form = GrantForm(request.POST or None, clusters=names.values())
    if request.method == "POST" and form.is_valid():
        try:
            granting.grant_give(actor=request.user, **form.cleaned_data)
        except ApplicationError as error:
            add_errors(form, error)
        else:
            messages.success(request, gettext("Granted. It applies from the next page on."))
            return redirect("grants")
    stored_grants = [(grant, names.get(grant.cluster, "") if grant.cluster else "") for grant in selectors.grant_list()]
    context = {"form": form, "stored_grants": stored_grants, "ruled": granting.by_rules()}
    return render(request, "accounts/grants.html", context, status=400 if form.errors else 200)


@require_POST
@requires(Action.ADMINISTER)
def grant_take(request: PageRequest, grant_id: UUID) -> HttpResponse:
    granting.grant_take(actor=request.user, grant=selectors.grant_get(grant_id))
    messages.success(request, gettext("Revoked. It no longer applies from the next page on."))
    return redirect("grants")


@require_safe
@requires(Action.ADMINISTER)
@with_news
def show_audit(request: PageRequest) -> HttpResponse | StreamingHttpResponse:
    """Show the trail, newest first; ``format=csv`` gives the same rows as a file."""
    filters = AuditFilter(request.GET, queryset=selectors.audit_list())
    if request.GET.get("format") == "csv":
        rows = in_pieces(filters.qs, CSV_FIELDS, CSV_ROWS, indexed_rows=filters.indexed_rows)
        return csv_response(
            "audit.csv",
            ["time", "who", "what", "kind", "id", "name", "details", "address"],
            ((at.isoformat(), *values) for at, *values in rows),
        )
    page = growing_page(request, filters.qs, indexed_rows=filters.indexed_rows)
    return render(request, "accounts/audit.html", {"filters": filters, "page": page})
