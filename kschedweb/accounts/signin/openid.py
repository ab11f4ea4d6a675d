"""django-allauth's OpenID Connect, with a nonce, every signature verified, and this site's own addresses."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.urls import reverse

from kschedweb.accounts.signin.external_identity import ExternalIdentity, SignInRefused, groups_read, person_accept
from kschedweb.accounts.signin.identity_tokens import ProviderAway, document_of, identity_verified
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from allauth.socialaccount.models import SocialLogin, SocialToken
    from django.http import HttpRequest, HttpResponse

    from kschedweb.accounts.signin.configuration import Provider

# The key in the state of a sign-in.
NONCE = "nonce"


@dataclass(frozen=True)
class Identity:
    """The result of a sign-in at a provider. ``repr`` shows no token."""

    provider: Provider
    outsider: ExternalIdentity
    # The provider's id of its session; "" if it gave none.
    sid: str
    id_token: str = field(repr=False)
    # "" if the provider gave none.
    refresh_token: str = field(repr=False)


class IdentityAdapter(OpenIDConnectOAuth2Adapter):
    """One exchange with one provider. ``expected_nonce`` is that of the sign-in which it answers."""

    def __init__(self, request: HttpRequest, provider: Provider) -> None:
        super().__init__(request, provider.id)
        self.configured = provider
        # Random, so that nothing matches until the state has been read.
        self.expected_nonce = secrets.token_urlsafe(32)

    @property
    def openid_config(self) -> Json:
        return document_of(self.configured)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("provider-callback", args=[self.configured.id]))

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        response = kwargs["response"]
        claims = identity_verified(self.configured, response.get("id_token"), nonce=self.expected_nonce)
        if self.configured.groups_claim not in claims and "userinfo_endpoint" in self.openid_config:
            user_info = self._fetch_user_info(token.token)
            # An answer about another subject must not add groups.
            if user_info.get("sub") == claims["sub"]:
                claims = {**user_info, **claims}
        identity = Identity(
            self.configured,
            external_identity_of(self.configured, claims),
            sid=str(claims.get("sid", ""))[:255],
            id_token=response["id_token"],
            refresh_token=str(response.get("refresh_token", "")),
        )
        request.identity = identity  # type: ignore[attr-defined]
        request.signed_in_by = identity.provider.id  # type: ignore[attr-defined]
        # allauth stores what it is given here in the database, so it gets no more than it needs.
        return self.get_provider().sociallogin_from_response(request, {"id_token": {"sub": claims["sub"]}})


def external_identity_of(provider: Provider, claims: Json) -> ExternalIdentity:
    return ExternalIdentity(
        provider=provider.id,
        subject=str(claims["sub"]),
        username=str(claims.get(provider.username_claim) or claims["sub"]),
        groups=groups_read(claims.get(provider.groups_claim)),
        email=str(claims.get("email") or ""),
        email_verified=claims.get("email_verified") is True,
    )


class CallbackView(OAuth2CallbackView):
    """allauth's view, which also passes the nonce of the sign-in to the adapter."""

    adapter: IdentityAdapter

    def _get_state(self, request: HttpRequest, provider: Any) -> tuple[Any, Any]:
        state, response = super()._get_state(request, provider)
        if state is not None:
            self.adapter.expected_nonce = state["data"][NONCE]
        return state, response


class IdentityProvider(OpenIDConnectProvider):
    def get_oauth2_adapter(self, request: HttpRequest) -> IdentityAdapter:
        return IdentityAdapter(request, settings.IDENTITY_PROVIDERS[self.app.provider_id])

    def begin(self, request: HttpRequest, onwards: str) -> HttpResponse:
        """Send the browser to the provider. Nothing in the request decides what the provider is asked."""
        nonce = secrets.token_urlsafe(32)
        response: HttpResponse = self.redirect(
            request, AuthProcess.LOGIN, next_url=onwards, data={NONCE: nonce}, auth_params={NONCE: nonce}
        )
        return response


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    """Providers come from the configuration alone. external_identity.py decides who somebody is."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        return [
            SocialApp(
                provider=IdentityProvider.id,
                provider_id=configured.id,
                name=configured.label,
                client_id=configured.client_id,
                secret=configured.client_secret,
                settings={
                    "server_url": configured.issuer,
                    "scope": list(configured.scopes),
                    "oauth_pkce_enabled": True,
                },
            )
            for configured in settings.IDENTITY_PROVIDERS.values()
            if provider in (None, configured.id, IdentityProvider.id)
        ]

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Apply the rules. From then on allauth knows the person and signs them in."""
        identity: Identity = request.identity  # type: ignore[attr-defined]
        provider = identity.provider
        sociallogin.user = person_accept(
            outsider=identity.outsider,
            rules=provider.rules,
            link_verified_email=provider.link_verified_email,
        )

    def on_authentication_error(self, request: HttpRequest, provider: Any, **kwargs: Any) -> None:
        """Raise the error that allauth caught, so that the site's own views report it (views.py)."""
        error, exception = kwargs.get("error"), kwargs.get("exception")
        if isinstance(exception, ProviderAway):
            raise exception
        raise SignInRefused("cancelled" if error == "cancelled" else "exchange" if exception else "state")

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        # ``person_accept`` has created the person before.
        return False
