"""Pages of second factors: django-allauth's views behind the site's own permissions, with its templates."""

from __future__ import annotations

from typing import Any

from allauth.account.views import ReauthenticateView
from allauth.mfa.base.views import AuthenticateView, IndexView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, RemoveWebAuthnView
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from kschedweb.accounts.factors.required import is_factor_missing
from kschedweb.accounts.permissions import View, requires
from kschedweb.accounts.roles import Action
from kschedweb.web.pages import page_part


def _protect_view(view: View) -> View:
    return sensitive_post_parameters()(never_cache(requires(Action.VIEW, without_second_factor=True)(view)))


class FactorsView(IndexView):  # type: ignore[misc]
    def get_context_data(self, **kwargs: Any) -> dict[str, object]:
        needed = is_factor_missing(self.request, self.request.user)
        return {**super().get_context_data(**kwargs), "second_factor_missing": needed}


class PasswordView(ReauthenticateView):  # type: ignore[misc]
    """A page that asks for the password again, and leads on to the page that the person came for."""

    def get_context_data(self, **kwargs: Any) -> dict[str, object]:
        onwards = self.request.POST.get("next", self.request.GET.get("next", ""))
        return {**super().get_context_data(**kwargs), "onwards": onwards}


class RemovePasskeyView(RemoveWebAuthnView):  # type: ignore[misc]
    success_url = reverse_lazy("mfa_index")


# Pages marked as parts need a step before them, or lead on.
authenticate = page_part(sensitive_post_parameters()(AuthenticateView.as_view()))
reauthenticate = _protect_view(PasswordView.as_view())
index = _protect_view(FactorsView.as_view())
activate_totp = page_part(_protect_view(ActivateTOTPView.as_view()))
deactivate_totp = page_part(_protect_view(DeactivateTOTPView.as_view()))
recovery_codes = page_part(_protect_view(ViewRecoveryCodesView.as_view()))
generate_recovery_codes = page_part(_protect_view(GenerateRecoveryCodesView.as_view()))
add_passkey = page_part(_protect_view(AddWebAuthnView.as_view()))
remove_passkey = page_part(_protect_view(RemovePasskeyView.as_view()))
