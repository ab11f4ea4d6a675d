"""Forms of the step that asks for a second factor: the limits of wrong passwords hold for it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.webauthn.forms import AuthenticateWebAuthnForm
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.utils.translation import gettext, gettext_lazy

from kschedweb.accounts.factors.required import failed
from kschedweb.accounts.lockout import turn

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def limited(user: User, check: Callable[[], Any]) -> Any:
    """What ``check`` returns, unless too many passwords or codes of ``user`` were wrong."""
    request = context.request
    with turn(request):
        if not AxesProxyHandler.is_allowed(request, {"username": user.get_username()}):
            request.axes_locked_out = True  # axes answers with the page of lockout.py
            raise forms.ValidationError(gettext("Too many wrong codes."))
        return check()


class CodeForm(AuthenticateForm):  # type: ignore[misc]
    code = forms.CharField(
        label=gettext_lazy("Code"),
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}),
    )

    def clean_code(self) -> str:
        code: str = limited(self.user, super().clean_code)
        return code


class PasskeyForm(AuthenticateWebAuthnForm):  # type: ignore[misc]
    def clean_credential(self) -> Any:
        def check() -> Any:
            try:
                return super(PasskeyForm, self).clean_credential()
            except forms.ValidationError:
                failed(None, context.request, self.user)
                raise

        return limited(self.user, check)
