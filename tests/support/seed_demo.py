"""The demo cluster as a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import ScenarioRevision


def scenario(user: User, place: str = "all") -> ScenarioRevision:
    """The demo's pods arrive anew (``place``: all), or those that wait in it (pending)."""
    from kschedweb.clusters.services import demo_load
    from kschedweb.playground.scenarios.services import scenario_create

    snapshot = demo_load(user=user).snapshots.get()
    text = (
        f"apiVersion: kschedweb/v1\nkind: Scenario\nname: The demo again\nbase: {{snapshot: {snapshot.pk}}}\n"
        f"run: {{place: {place}}}\n"
    )
    return scenario_create(text=text, author=user).revisions.get()
