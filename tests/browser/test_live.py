"""The trip of a pod that waits for a person: from its creation in a real cluster to its binding, a refusal, a timeout.

The site is `make run`, the cluster a real API server whose nodes kwok keeps ready; pods are made and looked at with
the real kubectl.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.originals.kubectl import kwok
from tests.support import seed
from tests.support.browser import watch
from tests.support.kubescheduler import kube_scheduler
from tests.support.livesite import NAMESPACE
from tests.support.processes import wait_until
from tests.support.site import PASSWORD, Site, made_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.originals.kubectl import Kubectl
    from tests.support.controlplane import ControlPlane

NAME = "careful"
DENIAL_REASON = "not while the release is frozen"
STOCK: dict[str, Any] = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
DOCUMENT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {permit: {enabled: [{name: HumanApproval}]}}
  pluginConfig:
  - name: HumanApproval
    args:
      rules:
      - {name: hurried, podSelector: {matchLabels: {patience: short}}, timeout: 3s}
      - {name: everything else, timeout: 10m}
"""


@pytest.fixture
def cluster(control_plane: ControlPlane, tmp_path: Path) -> Iterator[ControlPlane]:
    """Five nodes whose kubelet is kwok."""
    control_plane.create_nodes(seed.node(f"node-{number}", cpu=str(4 + number)) for number in range(5))
    with kwok(control_plane, tmp_path / "kwok"):
        yield control_plane
    control_plane.wipe()


@pytest.fixture
def site(tmp_path: Path, cluster: ControlPlane) -> Iterator[Site]:
    """`make run` with the cluster connected and the policy that asks people."""
    settings = {"KSCHEDWEB_CLUSTER_ALLOWLIST": "127.0.0.0/8", "KSCHEDWEB_ADMIN_PASSWORD": PASSWORD}
    settings["KSCHEDWEB_SANDBOX"] = "false"  # whose pods wait for people too
    with made_run(tmp_path, **settings) as run:
        run.site.login("admin", PASSWORD)
        credentials = {"source": "token", "server": cluster.url, "token": cluster.tokens["admin"], "ca": cluster.ca}
        connection = run.site.ask("POST", "clusters/", {"name": "real", **credentials})
        run.site.wait_for_job(connection["job"]["id"])
        run.site.ask("POST", "policies/", {"name": "careful", "document": DOCUMENT})
        yield run.site


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The admin's browser."""
    problems: list[str] = []
    context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    session = site.session.cookies["sessionid"] or ""
    context.add_cookies([{"name": "sessionid", "value": session, "url": site.url}])
    page = context.new_page()
    watch(page, site.url, problems)
    yield page
    context.close()
    assert not problems, "\n".join(problems)


def create_pod(kubectl: Kubectl, name: str, scheduler: str = NAME, cpu: str = "100m", **labels: str) -> float:
    """Create a pod with kubectl; when it was."""
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    spec = {"schedulerName": scheduler, "containers": [container], "terminationGracePeriodSeconds": 0}
    output = kubectl.run(
        "create", "-f", "-", manifest={"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    )
    assert output == f"pod/{name} created\n"
    return time.time()


def pod_phase_and_node(kubectl: Kubectl, name: str) -> tuple[str, str]:
    """Status and node of a pod, as `kubectl get pod -o wide` shows them."""
    (row,) = kubectl.table("get", "pod", name, "-o", "wide")
    return row["STATUS"], row["NODE"]


def is_reason_reported(kubectl: Kubectl, name: str, reason: str) -> Callable[[], bool]:
    return lambda: any(event["Reason"] == reason for event in kubectl.events(name))


def described_events(kubectl: Kubectl, name: str) -> list[tuple[str, ...]]:
    """Return the last events that `kubectl describe pod` shows of a pod, without their times."""
    return [tuple(event[head] for head in ("Type", "Reason", "From", "Message")) for event in kubectl.events(name)]


def test_pods_wait_for_people_and_go_where_was_shown(
    page: Page, site: Site, cluster: ControlPlane, kubectl: Kubectl
) -> None:
    make_scheduler(page)
    page.goto("/approvals/")
    expect(page.get_by_role("heading", level=1)).to_have_text("No pods are waiting for approval")

    created_at = create_pod(kubectl, "first")
    page.get_by_role("link", name=re.compile("new, show")).click()
    request = next(approval for approval in site.ask("GET", "approvals/")["results"] if approval["name"] == "first")
    assert datetime.fromisoformat(request["asked_at"]).timestamp() - created_at < 2
    shown_node = open_decision(page)
    assert shown_node == request["node"]
    assert pod_phase_and_node(kubectl, "first") == ("Pending", "<none>"), "nothing is bound before somebody says yes"

    page.goto("/approvals/")
    page.get_by_role("button", name=re.compile("Approve ?, first")).click()
    wait_until(
        lambda: pod_phase_and_node(kubectl, "first") == ("Running", shown_node),
        "first runs on the node that was shown",
        step=0.5,
    )
    wait_until(is_reason_reported(kubectl, "first", "Scheduled"), "its binding is told", step=0.5)
    scheduled_message = f"Successfully assigned {NAMESPACE}/first to {shown_node}"
    assert described_events(kubectl, "first") == [("Normal", "Scheduled", NAME, scheduled_message)]
    (event,) = kubectl.table("get", "events", "--field-selector", "involvedObject.name=first")
    del event["LAST SEEN"]
    assert event == {"TYPE": "Normal", "REASON": "Scheduled", "OBJECT": "pod/first", "MESSAGE": scheduled_message}

    create_pod(kubectl, "second")
    refuse = page.get_by_role("button", name=re.compile("Deny ?, second"))
    wait_until(lambda: page.goto("/approvals/") is not None and refuse.count() > 0, "second waits", step=0.5)
    page.locator("#pane-reason").fill(DENIAL_REASON)
    refuse.click()
    wait_until(is_reason_reported(kubectl, "second", "FailedScheduling"), "the refusal is told", step=0.5)
    assert DENIAL_REASON in described_events(kubectl, "second")[-1][3]

    create_pod(kubectl, "third", patience="short")
    wait_until(is_reason_reported(kubectl, "third", "FailedScheduling"), "the timeout is told", step=0.5)
    timeout_reason = "1 rejected due to timeout after waiting 3s at plugin HumanApproval"
    assert described_events(kubectl, "third")[-1][3] == f"0/1 nodes are available: {timeout_reason}."
    for name in ("second", "third"):
        assert pod_phase_and_node(kubectl, name) == ("Pending", "<none>")

    reads_as_kube_schedulers(page, cluster, kubectl)
    check_audit_page(page)
    check_decisions_page(page, kubectl)


def reads_as_kube_schedulers(page: Page, cluster: ControlPlane, kubectl: Kubectl) -> None:
    """Of a pod that is placed and one that fits nowhere kubectl tells what it tells when kube-scheduler decides."""

    def describe_pods_of(scheduler: str) -> list[tuple[str, ...]]:
        placed_pod, huge_pod = f"placed-by-{scheduler}", f"huge-for-{scheduler}"
        create_pod(kubectl, placed_pod, scheduler)
        create_pod(kubectl, huge_pod, scheduler, cpu="100")
        if scheduler == NAME:
            approve = page.get_by_role("button", name=re.compile(f"Approve ?, {placed_pod}"))
            wait_until(
                lambda: page.goto("/approvals/") is not None and approve.count() > 0, f"{placed_pod} waits", step=0.5
            )
            approve.click()
        wait_until(lambda: pod_phase_and_node(kubectl, placed_pod)[0] == "Running", f"{placed_pod} runs", step=0.5)
        wait_until(is_reason_reported(kubectl, placed_pod, "Scheduled"), f"{placed_pod} is told of", step=0.5)
        wait_until(is_reason_reported(kubectl, huge_pod, "FailedScheduling"), f"{huge_pod} is told of", step=0.5)
        events = [*described_events(kubectl, placed_pod), *described_events(kubectl, huge_pod)]
        node = pod_phase_and_node(kubectl, placed_pod)[1]
        return [tuple(part.replace(node, "NODE").replace(scheduler, "SCHEDULER") for part in event) for event in events]

    with kube_scheduler(cluster, {**STOCK, "profiles": [{"schedulerName": "stock"}]}):
        assert describe_pods_of(NAME) == describe_pods_of("stock")


def make_scheduler(page: Page) -> None:
    """Make the live scheduler by the form; the page then says that every right is there."""
    page.goto("/live/new/")
    page.locator("#id_cluster").select_option("real")
    page.get_by_label("Scheduler name").fill(NAME)
    page.get_by_label("Scheduling:").check()
    page.locator("#id_policy").select_option("careful")
    page.get_by_role("button", name="Create live scheduler").click()
    expect(page.locator("#live-rights")).to_contain_text("have every right that mode scheduling needs")
    page.locator(".page-head").get_by_role("link", name=NAME).click()
    expect(page.locator("#live-now")).to_contain_text("leads")
    expect(page.locator("#live-now .badge").first).to_have_text("Scheduling")


def open_decision(page: Page) -> str:
    """The node on the page of the waiting pod's decision."""
    link = page.get_by_role("link", name="The full decision")
    # The row of the decision may come half a second after the request.
    wait_until(lambda: link.count() > 0 or page.reload() is None, "the decision is kept", step=0.5)
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("first waits for approval on node-")
    # The nodes are equal to each other, so that no column tells them apart.
    page.get_by_role("link", name="Show these columns").click()
    page.locator("table.matrix tr.chosen a[href*='cell=NodeResourcesFit']").first.click()
    expect(page.locator("#cell")).to_contain_text("Strategy LeastAllocated")
    row = page.locator("table.matrix tr.chosen th")
    return re.split(r"\s", row.inner_text().strip())[0]


def check_audit_page(page: Page) -> None:
    page.goto("/audit/")
    text = page.locator("main").inner_text()
    for verb in ("approval.approved", "approval.denied", "approval.expired"):
        assert verb in text
    assert DENIAL_REASON in text


def check_decisions_page(page: Page, kubectl: Kubectl) -> None:
    """Check that the live page lists and filters all three outcomes, and announces a new one."""
    page.goto("/live/")
    page.get_by_role("link", name=NAME).first.click()
    table = page.get_by_role("region", name="Decisions")
    for name, result in (("first", "Bound"), ("second", "Denied"), ("third", "Expired")):
        expect(table.get_by_role("row", name=name).first).to_contain_text(result)
    create_pod(kubectl, "fourth")
    page.get_by_role("link", name="Show 1 new decision").click()
    expect(table.get_by_role("row", name="fourth")).to_contain_text("Held for approval")
    page.locator("#id_result").select_option("denied")
    page.get_by_role("button", name="Filter").click()
    expect(table.locator("tbody tr")).to_have_count(1)
