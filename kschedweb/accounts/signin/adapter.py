"""django-allauth's questions about accounts, answered for this site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from django.contrib.auth import authenticate

from kschedweb.accounts.addresses import client_address
from kschedweb.accounts.lockout import password_turn

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.accounts.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_login_stages(self) -> list[str]:
        return ["kschedweb.accounts.factors.stage.FactorStage"]

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request) or ""

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Show no message: pages of this site say what was done."""

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        """Send no mail: the audit trail has the event."""

    def reauthenticate(self, user: User, password: str) -> bool:
        """Check the password within the limits of a login: wrong ones are counted and written down."""
        with password_turn(context.request):
            return bool(authenticate(context.request, username=user.get_username(), password=password) == user)
