"""Sign-in at an identity provider: the way there, the way back, and the logout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from allauth.socialaccount.adapter import get_adapter
from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.core.cache import cache
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from kschedweb.accounts import audit
from kschedweb.accounts.lockout import password_turn
from kschedweb.accounts.signin.external_identity import SignInRefused
from kschedweb.accounts.signin.identity_tokens import ProviderAway, TokenError, logout_verified
from kschedweb.accounts.signin.openid import CallbackView, IdentityAdapter
from kschedweb.accounts.signin.provider_sessions import provider_logout_url, sessions_end
from kschedweb.accounts.signin.refusals import SENTENCES
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.models import User
    from kschedweb.accounts.signin.configuration import Provider

# Statuses of refusals; 403 for all others.
STATUSES = {"away": 503, "token": 401, "exchange": 401, "state": 400, "cancelled": 400}

logger = structlog.get_logger(__name__)


def refusal_page(request: HttpRequest, reason: str) -> HttpResponse:
    """Return a plain page that says why nobody is signed in."""
    status = STATUSES.get(reason, 403)
    return render(request, "accounts/refused.html", {"reason": reason, "sentence": SENTENCES[reason]}, status=status)


def _get_provider(provider_id: str) -> Provider:
    provider: Provider | None = settings.IDENTITY_PROVIDERS.get(provider_id)
    if provider is None:
        raise Http404("There is no such identity provider.")
    return provider


def _record_refusal(provider: Provider, reason: str, user: User | None = None, **details: object) -> None:
    audit.record_refusal("login.refused", user, provider=provider.id, reason=reason, **details)


# A link and not a form, because a form may not lead to another site, and providers redirect further.
@page_part
@require_GET
@never_cache
def begin_signin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Redirect to the provider. ``next`` is the page of this site to come back to."""
    provider = _get_provider(provider_id)
    onwards = request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(onwards, {request.get_host()}, require_https=request.is_secure()):
        onwards = reverse(settings.LOGIN_REDIRECT_URL)
    try:
        return get_adapter().get_provider(request, provider.id).begin(request, onwards)  # type: ignore[no-any-return]
    except ProviderAway as away:
        logger.warning("identity_provider_away", provider=provider.id, reason=str(away))
        return refusal_page(request, "away")


@page_part
@require_GET
@never_cache
def provider_callback(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Take the browser back from the provider, and exchange the code for tokens."""
    provider = _get_provider(provider_id)
    try:
        with password_turn(request):
            view: Any = CallbackView.adapter_view(IdentityAdapter(request, provider))
            return view(request)  # type: ignore[no-any-return]
    except SignInRefused as refusal:
        if refusal.reason != "cancelled":
            _record_refusal(provider, refusal.reason, refusal.user)
        return refusal_page(request, refusal.reason)
    except TokenError as error:
        _record_refusal(provider, "token", what=str(error))
        return refusal_page(request, "token")
    except ProviderAway as away:
        logger.warning("identity_provider_away", provider=provider.id, reason=str(away))
        return refusal_page(request, "away")


@csrf_exempt
@require_POST
@never_cache
def backchannel_logout(request: HttpRequest, provider_id: str) -> HttpResponse:
    """End the sessions that the provider itself reports as over (OpenID Connect Back-Channel Logout)."""
    provider = _get_provider(provider_id)
    try:
        with password_turn(request):
            claims = logout_verified(provider, request.POST.get("logout_token"))
            # A logout token may be used once; ``logout_verified`` refuses tokens older than this memory.
            if not cache.add(f"logout_token_{provider.id}_{claims['jti']}", True, timeout=900):
                raise TokenError("used before")
    except TokenError as error:
        _record_refusal(provider, "logout", what=str(error))
        return HttpResponse(status=400)
    except ProviderAway:
        return HttpResponse(status=503)
    sessions_end(provider, subject=claims.get("sub", ""), sid=claims.get("sid", ""))
    return HttpResponse(status=200)


class SiteLogoutView(LogoutView):
    """The logout, by POST only, so that no image on another site logs anybody out.

    A session that began at a provider ends there too, through a page that leads on, because a form may not lead to
    another site.
    """

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        address = provider_logout_url(request, request.build_absolute_uri(reverse("login")))
        response = super().post(request, *args, **kwargs)
        if address is None:
            return response  # type: ignore[return-value]
        return render(request, "accounts/logged_out.html", {"address": address})
