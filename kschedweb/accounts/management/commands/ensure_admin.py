"""Make the first admin of a new installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from kschedweb.accounts import services
from kschedweb.accounts.models import User
from kschedweb.accounts.roles import Role
from kschedweb.web import variables

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    help = (
        "Make an admin unless an active one exists. The password is KSCHEDWEB_ADMIN_PASSWORD (or the content of "
        "KSCHEDWEB_ADMIN_PASSWORD_FILE), else a generated one that is printed once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--username", default="admin")
        parser.add_argument(
            "--reset",
            action="store_true",
            help="give that admin a new generated password, and take second factors away",
        )

    def handle(self, *args: Any, username: str, reset: bool, **options: Any) -> None:
        """Make the admin. Prints ``username`` and ``password`` on a line each if it made a password, else nothing."""
        if reset:
            user = User.objects.filter(username=username, role=Role.ADMIN, is_active=True).first()
            if user is None:
                raise CommandError(f"There is no active admin named {username}.")
            services.user_remove_factors(actor=None, user=user)
            user.refresh_from_db()
            self._print_password(username, services.user_reset_password(actor=None, user=user))
            return
        configured_password = variables.ADMIN_PASSWORD.read()
        try:
            admin, password = services.admin_ensure(username=username, password=configured_password)
        except ValidationError as error:
            raise CommandError(f"KSCHEDWEB_ADMIN_PASSWORD: {' '.join(error.messages)}") from None
        if admin and not configured_password:
            self._print_password(username, password)

    def _print_password(self, username: str, password: str) -> None:
        self.stdout.write(f"username: {username}\npassword: {password}")
