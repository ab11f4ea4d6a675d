"""Only a name that is really taken is called taken."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError

from kschedweb.accounts.models import User
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import Conflict
from tests.conftest import ROOT

NAME_TAKEN = Conflict.at("username", "This name is taken.")


@pytest.mark.django_db
def test_a_row_that_is_there_already_is_the_conflict(viewer: User) -> None:
    namesakes = User.objects.filter(username=viewer.username)
    with pytest.raises(Conflict) as caught, conflict_where(namesakes, NAME_TAKEN):
        User.objects.create(username=viewer.username)
    assert caught.value is NAME_TAKEN
    assert namesakes.count() == 1


@pytest.mark.django_db
def test_another_refusal_of_the_database_passes_as_it_is() -> None:
    namesakes = User.objects.filter(username="somebody")
    invalid_fields: dict[str, Any] = {"role": None}
    with pytest.raises(IntegrityError), conflict_where(namesakes, NAME_TAKEN):
        User.objects.create(username="somebody", **invalid_fields)
    assert not namesakes.exists()


def test_every_service_asks_what_the_database_refused() -> None:
    catching = {
        str(path.relative_to(ROOT / "kschedweb"))
        for path in (ROOT / "kschedweb").rglob("*.py")
        if "IntegrityError" in path.read_text(encoding="utf-8")
    }
    # An approval's rival, or a person's other request, is looked for again; a snapshot's cluster may be gone.
    looking_again = {"live/approvals/services.py", "accounts/signin/external_identity.py"}
    assert catching == {"web/conflicts.py", "clusters/snapshots.py", *looking_again}
