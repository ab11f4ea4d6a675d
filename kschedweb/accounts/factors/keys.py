"""Rotation of the keys that encrypt what sign-in stores, for `manage.py rotate_keys`."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.db import transaction

from kschedweb.accounts.models import ProviderSession
from kschedweb.accounts.sealing import reseal

# Members of the row's data: the secret of an app, the seed of recovery codes.
SEALED = ("secret", "seed")
COLUMNS = ("id_token", "refresh_token")


def seals_rotate() -> tuple[int, list[str]]:
    """Encrypt everything anew under the first key. Returns the number of rows, and the owners of unreadable ones."""
    rotated, unopened = 0, list[str]()
    for pk in Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN).values_list("pk", flat=True):
        with transaction.atomic():
            row = Authenticator.objects.select_for_update(of=("self",)).select_related("user").filter(pk=pk).first()
            if row is None:
                continue
            sealed = {name: reseal(row.data[name]) for name in SEALED if name in row.data}
            if None in sealed.values():
                unopened.append(row.user.get_username())
                continue
            row.data |= sealed
            row.save(update_fields=["data"])
            rotated += 1
    for pk in ProviderSession.objects.values_list("pk", flat=True):
        with transaction.atomic():
            session = ProviderSession.objects.select_for_update(of=("self",)).filter(pk=pk).first()
            if session is None:
                continue
            # A token that no key opens is emptied; its session ends when the provider is to be asked.
            for name in COLUMNS:
                setattr(session, name, reseal(getattr(session, name)) or "")
            session.save(update_fields=COLUMNS)
            rotated += 1
    return rotated, sorted(set(unopened))
