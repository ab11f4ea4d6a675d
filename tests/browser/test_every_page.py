"""Every page, light and wide, dark and narrow: nothing for axe, no violation, nothing that sticks out.

`KSCHEDWEB_SCREENSHOTS=folder` keeps a picture of each; with `NIGHTLY=1` of each width in each theme and language.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import TimeoutError

from kschedweb.accounts.grants import grant_give
from kschedweb.advice.rightsizing.selectors import sizes_of
from tests.support import (
    addresses,
    seed_approvals,
    seed_autoscaling,
    seed_capacity,
    seed_descheduling,
    seed_fleet,
    seed_groups,
    seed_live,
    seed_plans,
    seed_questions,
    seed_recordings,
    seed_runs,
    seed_sweeps,
)
from tests.support.browser import PATIENCE, settled
from tests.support.sandbox import use_sandbox
from tests.support.scenarios import explained, seeded
from tests.support.seed import experimented
from tests.support.seed_classic import classic
from tests.support.seed_crane import crane
from tests.support.seed_flight import flown
from tests.support.seed_gates import gates
from tests.support.seed_karpenter import karpenter
from tests.support.seed_moves import questions
from tests.support.seed_repositories import repositories
from tests.support.seed_trying import tried_changes
from tests.support.tiers import NIGHTLY, one_of

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def demo(live_server: Any, admin: User, settings: Any, sandbox_address: str) -> addresses.Places:
    """The demo cluster, a second revision of `default`, a job, and a sandbox."""
    from kschedweb.clusters.models import NodeRow, PodRow
    from kschedweb.clusters.selectors import pod_refs
    from kschedweb.clusters.services import demo_load, sandbox_connect
    from kschedweb.decisions.services import summarize_pods
    from kschedweb.jobs.models import Job, JobState
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.policies.selectors import policy_get, revision_get
    from kschedweb.policies.services import revision_save

    cluster = demo_load(user=admin)
    use_sandbox(settings, sandbox_address)
    sandbox_connect()
    policy = policy_get("default")
    first = revision_get(policy, None)
    document = first.document + "percentageOfNodesToScore: 50\n"
    second = revision_save(
        policy=policy, document=document, author=admin, expected=first.number, comment="Look at half"
    )
    snapshot = cluster.snapshots.get()
    waiting = PodRow.objects.filter(snapshot=snapshot, pending=True)
    pods = pod_refs(waiting)
    keys = [pod.key for pod in pods]
    summaries = summarize_pods(snapshot, first, pods)
    job = Job.objects.create(
        kind="seeded", title="Read cluster demo", state=JobState.RUNNING, done=3, total=10, step="Reading objects"
    )
    live, decision = seed_live.everything(10, admin)
    run_keys = seed_runs.everything(1, admin)
    sweep = seed_sweeps.everything(1, admin)
    question, effect = seed_questions.questions(admin, str(snapshot.pk))
    approval, webhook = seed_approvals.everything(4, LiveScheduler.objects.get(pk=live), admin)
    return addresses.Places(
        cluster="demo",
        node=NodeRow.objects.filter(snapshot=snapshot).values_list("name", flat=True)[0],
        fitting=next(key for key in keys if summaries[key].node),
        stuck=next(key for key in keys if not summaries[key].node),
        revision=second.number,
        classic=classic(admin),
        crane=crane(admin),
        karpenter=karpenter(admin),
        job=str(job.pk),
        experiment=experimented(admin),
        scenario=seeded(admin, str(snapshot.pk)),
        ready=explained(),
        groups=seed_groups.everything(4, admin),
        queued="demo/analytics/analytics/job-churn",
        run=run_keys[0],
        comparison=run_keys[1],
        gate=gates(2, admin, str(snapshot.pk)),
        moves=questions(2, admin, str(snapshot.pk)),
        tried_change=tried_changes(2, admin, str(snapshot.pk)),
        fleet=seed_fleet.trial(admin, "demo"),
        sized=sizes_of(snapshot.cluster)[2][0].workload,
        capacity=seed_capacity.question(admin, str(snapshot.pk)),
        evicting=seed_descheduling.question(admin, str(snapshot.pk)),
        planned=seed_plans.question(admin, str(snapshot.pk)),
        autoscaling=seed_autoscaling.question(admin, str(snapshot.pk)),
        decided=question,
        effect=effect,
        sweep=sweep,
        recording=seed_recordings.everything(1, admin),
        flown=flown(),
        repository=repositories(2, admin),
        live=live,
        live_decision=decision,
        approval=approval,
        webhook=webhook,
        grant=str(grant_give(actor=admin, group="platform-*", role="editor", label="env=prod").pk),
        sandbox="default/seed",
    )


WIDTHS = {"wide": 1440, "narrow": 320}
WINDOWS = list(itertools.product(WIDTHS, ("light", "dark")))


@pytest.mark.timeout(0 if NIGHTLY else None)  # every page in both themes with all rules of axe: half an hour
@pytest.mark.parametrize("size", [pytest.param(size, marks=pytest.mark.xdist_group(size)) for size in WIDTHS])
@pytest.mark.parametrize("language", one_of("en-US", "zh-CN", "ja"))
def test_every_page_is_sound(
    page_as: Callable[..., Any], axe: Callable[..., None], demo: addresses.Places, size: str, language: str
) -> None:
    """In the full tier each page is looked at in all four ways; in a commit's pages take turns, also with contrast."""
    width, open_ = WIDTHS[size], partial(page_as, "admin", width=WIDTHS[size], language=language)
    windows = {scheme: open_(dark=scheme == "dark") for scheme in ("light", "dark")}
    problems: list[str] = []
    for turn, (name, path) in enumerate(addresses.pages(demo).items()):
        colours = None if NIGHTLY or turn // len(WINDOWS) % 3 == 0 else False
        for of_size, scheme in WINDOWS if NIGHTLY else [WINDOWS[turn % len(WINDOWS)]]:
            if of_size == size:
                problems += find_page_problems(
                    windows[scheme], f"{name}-{language[:2]}", path, width, scheme, partial(axe, colours=colours)
                )
    assert not problems, "\n".join(problems)


def find_page_problems(
    page: Any, name: str, path: str, width: int, scheme: str, axe: Callable[..., None]
) -> Iterator[str]:
    answer = page.goto(path)
    assert answer.status == 200, f"{path}: {answer.status}"
    settled(page)
    if page.locator("h1").count() != 1:
        yield f"{path} has {page.locator('h1').count()} h1"
    keep_screenshot(page, name, width, scheme)
    if (surplus := page.evaluate(OVERFLOW)) > 0:
        yield f"{path} sticks out by {surplus} px at {width}, {scheme}"
    try:
        axe(page)
    except AssertionError as error:
        yield str(error)
    if width != WIDTHS["narrow"]:
        yield from find_narrowing_problems(page, path)


def find_narrowing_problems(page: Any, path: str) -> Iterator[str]:
    """A page that sticks out of a window that becomes narrow; charts are drawn anew a moment later."""
    full_size = page.viewport_size
    page.set_viewport_size({**full_size, "width": WIDTHS["narrow"]})
    try:
        page.wait_for_function(f"() => {OVERFLOW} <= 0", timeout=PATIENCE)
    except TimeoutError:
        yield f"{path} sticks out by {page.evaluate(OVERFLOW)} px of a window that became narrow"
    page.set_viewport_size(full_size)


@pytest.mark.nightly
def test_every_page_can_be_read_without_javascript(page_as: Callable[..., Any], demo: addresses.Places) -> None:
    page = page_as("admin", javascript=False)
    for path in addresses.pages(demo).values():
        assert page.goto(path).status == 200
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.locator("h1").inner_text().strip(), path
            assert page.locator("main").inner_text().strip(), path


def keep_screenshot(page: Any, name: str, width: int, scheme: str) -> None:
    folder = os.environ.get("KSCHEDWEB_SCREENSHOTS")
    if folder:
        file = f"{name.replace(':', '-')}-{width}-{scheme}.png"
        page.screenshot(path=Path(folder) / file, full_page=True)
