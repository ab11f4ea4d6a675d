"""Forms for people who forgot their password, if the site can send mail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm

from kschedweb.accounts import services
from kschedweb.accounts.signin.local import password_allowed

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


class MailForm(PasswordResetForm):
    def get_users(self, email: str) -> Iterator[User]:  # type: ignore[override]
        """Return the active people with this address and a password that they may log in with."""
        return (user for user in super().get_users(email) if password_allowed(user))  # type: ignore[misc, arg-type]


class RenewForm(SetPasswordForm):  # type: ignore[type-arg]
    def save(self, commit: bool = True) -> Any:
        services.password_renew(user=self.user, password=self.cleaned_data["new_password1"])
        return self.user
