"""Questions that take longer than a request: the page shows the job's progress, and opens the answer by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.support import seed_groups, seed_runs
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACK = HEAD + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]\n"
GROUP = f"/clusters/{seed_groups.NAME}/podgroups/default/gang/?gates=on"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("width", "dark"), one_of((390, False), (1440, True)))
def test_pages_of_long_questions_open_by_themselves(
    live_server: Any,
    admin: User,
    page_as: Callable[..., Page],
    axe: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    dark: bool,
) -> None:
    from kschedweb.clusters.services import demo_load
    from kschedweb.decisions import services, snapshots
    from kschedweb.decisions.inquiring import tasks
    from kschedweb.engine.patience import DeadlineExceeded
    from kschedweb.jobs.models import Job, JobState
    from kschedweb.live.schedulers.services import live_create
    from kschedweb.playground.runs import selectors
    from kschedweb.policies.services import policy_create, revision_save

    def no_time(text: str, completed: int, total: int) -> None:
        raise DeadlineExceeded

    run = seed_runs.run(admin)
    seed_groups.everything(2, admin)
    demo = demo_load(user=admin)
    policy = policy_create(name="spread", document=HEAD, author=admin)
    live = live_create(user=admin, cluster=demo, scheduler_name="default-scheduler", policy=policy)
    revision_save(policy=policy, document=PACK, author=admin, expected=1)
    selectors.clear_caches()
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    monkeypatch.setattr(selectors, "deadline_step", lambda seconds: no_time)
    page = page_as("admin", width=width, dark=dark)
    pages = {
        GROUP: "gang fits only once",
        f"/clusters/{seed_groups.NAME}/podgroups/": "groups of pods in",
        f"/runs/{run.pk}/pods/default/web-13/": "web-13 goes to",
        "/load-aware/?cluster=demo&pod_name=ml/notebook": "notebook",
        "/decision/demo/ml/notebook/": "notebook",
        f"/live/{live.pk}/rollout/?effect=all": "Roll out revision 2",
    }
    for address, heading in pages.items():
        services.clear_caches()  # the job before has read the cluster as if in this process
        page.goto(address)
        expect(page.locator("#waits progress")).to_be_visible()
        axe(page)
        for job in Job.objects.filter(state=JobState.QUEUED, kind="decisions.answer"):
            tasks.answer(str(job.pk))
        expect(page.locator("#waits")).to_have_count(0)
        expect(page.locator("h1")).to_contain_text(heading)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        axe(page)
