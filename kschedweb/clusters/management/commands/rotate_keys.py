"""manage.py rotate_keys: encrypts every stored credential with the first of KSCHEDWEB_ENCRYPTION_KEYS."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kschedweb.accounts.factors.keys import seals_rotate
from kschedweb.clusters.connecting.credentials import keys_rotate
from kschedweb.web.errors import ApplicationError


class Command(BaseCommand):
    help = "Encrypt every stored credential again under the first key; it may be stopped and run again."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rotated, unopened = keys_rotate()
        except ApplicationError as error:
            raise CommandError(error.detail) from None
        resealed, of_people = seals_rotate()
        rotated, unopened = rotated + resealed, [*unopened, *of_people]
        self.stdout.write(f"Encrypted again: {rotated}.")
        if unopened:
            raise CommandError(f"No key opens the credentials of {', '.join(unopened)}: keep the key they need.")
