"""An admin follows the live page's hint, sees what a newer revision would change, and rolls it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACK = HEAD + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]\n"


@pytest.mark.django_db(transaction=True)
def test_a_newer_revision_is_reviewed_and_rolled_out(
    live_server: Any,
    admin: User,
    page_as: Callable[..., Page],
    axe: Callable[..., None],
    plain_demo: None,
    monkeypatch: Any,
) -> None:
    from kschedweb.clusters.services import demo_load
    from kschedweb.live.schedulers import rollout
    from kschedweb.live.schedulers.services import live_create
    from kschedweb.policies.services import policy_create, revision_save

    monkeypatch.setattr(rollout, "POD_LIMIT", 10)
    policy = policy_create(name="spread", document=HEAD, author=admin)
    live = live_create(user=admin, cluster=demo_load(user=admin), scheduler_name="default-scheduler", policy=policy)
    revision_save(policy=policy, document=PACK, author=admin, expected=1)
    page = page_as("admin")
    page.goto(f"/live/{live.pk}/")
    expect(page.get_by_text("Revision 2 of spread is newer")).to_be_visible()
    page.get_by_role("link", name="Review and roll out").click()
    changes = page.get_by_role("group", name="Differences")
    expect(changes).to_contain_text("MostAllocated")
    effect = page.locator("#effect")
    expect(effect).to_contain_text("of 10 pods of default-scheduler would go elsewhere", timeout=60_000)
    axe(page)
    page.get_by_role("button", name="Roll out revision 2").click()
    expect(page.get_by_text("Revision 2 of spread takes effect within a second.")).to_be_visible()
    expect(page.get_by_role("link", name="spread revision 2")).to_be_visible()
    expect(page.get_by_text("is newer")).to_have_count(0)
