"""Every page and every REST list of the site, for the tests that visit all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Places:
    """Objects that the addresses lead to."""

    cluster: str
    fitting: str  # "namespace/name" of a pending pod that fits
    stuck: str  # … of one that fits nowhere
    policy: str = "default"
    revision: int = 1
    classic: str = ""  # a classic policy
    crane: str = ""  # a policy file of crane-scheduler; the policy ``aware`` points at it
    karpenter: str = ""  # a policy of kind Karpenter
    job: str = ""
    experiment: str = ""
    scenario: str = ""
    ready: str = ""  # a scenario that comes with the site
    groups: str = ""  # a cluster with the group default/gang
    run: str = ""
    comparison: str = ""
    gate: str = ""
    moves: str = ""
    tried_change: str = ""
    sized: str = ""  # a workload whose containers' use is known
    fleet: str = ""  # a policy tried on many clusters
    capacity: str = ""
    evicting: str = ""  # a dry run of the descheduler
    descheduled: str = ""  # a run with a descheduler
    planned: str = ""  # a plan of moves
    autoscaling: str = ""
    decided: str = ""  # a question about a decision
    effect: str = ""  # one about an edited policy
    sweep: str = ""
    recording: str = ""
    repository: str = ""  # that policies come from
    flown: str = ""  # "cluster/namespace/name" of a pod that a flight recorder knows
    run_pod: str = "default/web-00"
    run_node: str = "node-0"
    node: str = "node-00000"
    snapshot: str = ""
    token: str = ""
    live: str = ""
    live_decision: str = ""
    approval: str = ""
    webhook: str = ""
    grant: str = ""
    view: str = ""  # of a list
    queued: str = ""  # "cluster/queue/namespace/name" of a workload that waits for quota
    sandbox: str = ""  # "namespace/name" of a pod in the site's sandbox
    user: str = "admin"


def pages(at: Places) -> dict[str, str]:
    """Address of every page by the name of its route; a page with two faces has a second name after a colon."""
    c, p, r = at.cluster, at.policy, at.revision
    addresses = {
        "overview": f"/?cluster={c}",
        "fleet": "/fleet/",
        "fleet-search": "/fleet/search/?q=web",
        "fleet-search:empty": "/fleet/search/",
        "fleet-trials": "/fleet/trials/",
        "clusters": "/clusters/",
        "cluster": f"/clusters/{c}/",
        "cluster-flight": f"/clusters/{c}/flight/",
        "cluster-delete": f"/clusters/{c}/delete/",
        "cluster-connect": "/clusters/connect/",
        "cluster-import": "/clusters/import/",
        "nodes": f"/nodes/?cluster={c}",
        "queues": f"/queues/?cluster={c}",
        "nodes:state": f"/nodes/?cluster={c}&show=state&by=instance+type",
        "node": f"/nodes/{at.node}/?cluster={c}",
        "pods": f"/pods/?cluster={c}",
        "decision": f"/decision/{c}/{at.fitting}/?policy={p}",
        "decision:stuck": f"/decision/{c}/{at.stuck}/?policy={p}",
        "classic": "/classic/",
        "classic-entry": "/classic/GeneralPredicates/",
        "classic-entry:priority": "/classic/SelectorSpreadPriority/",
        "policies": "/policies/",
        "policy-new": "/policies/new/",
        "repositories": "/policies/repositories/",
        "policy": f"/policies/{p}/?cluster={c}",
        "policy:points": f"/policies/{p}/?by=point&changed=1",
        "policy-weights": f"/policies/{p}/weights/?cluster={c}",
        "policy-revisions": f"/policies/{p}/revisions/",
        "policy-diff": f"/policies/{p}/diff/?from={max(r - 1, 1)}&to={r}",
        "policy-effective": f"/policies/{p}/effective/",
        "policy-delete": f"/policies/{p}/delete/",
        "usage": f"/usage/?cluster={c}",
        "usage-heatmap": f"/usage/heatmap/?cluster={c}",
        "usage-distribution": f"/usage/distribution/?cluster={c}",
        "usage-nodes": f"/usage/nodes/?cluster={c}",
        "usage-workloads": f"/usage/workloads/?cluster={c}",
        "usage-source": f"/usage/source/?cluster={c}",
        "usage-annotations": f"/usage/annotations/?cluster={c}",
        "load-aware": f"/load-aware/?cluster={c}&policy={p}",
        "autoscaling": f"/autoscaling/?cluster={c}&pool=default",
        "autoscaling-change": "/autoscaling/change/",
        "autoscaling-groups": f"/autoscaling/groups/?cluster={c}",
        "capacity-fit": f"/capacity/?cluster={c}&cpu=500m&memory=1Gi",
        "capacity-gangs": f"/capacity/gangs/?cluster={c}&cpu=500m&memory=1Gi&pods=8",
        "capacity-nodes": f"/capacity/nodes/?cluster={c}&ask=1&pending=on&node_cpu=16&node_memory=64Gi",
        "capacity-drain": f"/capacity/drain/?cluster={c}",
        "costs": f"/costs/?cluster={c}",
        "costs:workload": f"/costs/?cluster={c}&by=workload&ordering=idle&unit=node-hours",
        "costs-prices": f"/costs/prices/?cluster={c}",
        "right-sizing": f"/right-sizing/?cluster={c}",
        "right-sizing-apply": f"/right-sizing/apply/?cluster={c}",
        "capacity-buffer": f"/capacity/buffer/?cluster={c}&zones=on&largest=2",
        "capacity-change": f"/trying/nodes/?cluster={c}",
        "descheduling": f"/descheduling/?cluster={c}&ask=1&rounds=2",
        "plans": f"/plans/?cluster={c}&objective=skew",
        "scenarios": "/scenarios/",
        "scenario-new": "/scenarios/new/",
        "scenario-import": "/scenarios/import/",
        "runs": "/runs/",
        "run-new": "/runs/new/",
        "comparisons": "/comparisons/",
        "comparison-new": "/comparisons/new/",
        "gate": f"/gate/?policy={p}@{r}&on=cluster:{c}",
        "gate:filtered": f"/gate/?policy={p}@{r}&on=cluster:{c}&verdict=pass&search=demo",
        "releases": "/releases/",
        "releases:older": f"/releases/?first=1.34&second=1.35&cluster={c}",
        "trying": f"/trying/?cluster={c}&policy={p}",
        "migration": "/migration/",
        "migration:filtered": "/migration/?search=default",
        "sweeps": "/sweeps/",
        "sweep-new": "/sweeps/new/",
        "sweep-new:rows": f"/sweeps/new/?policy={p}",
        "recordings": "/recordings/",
        "comparisons:experiments": "/comparisons/?kind=experiment",
        "experiment-new": "/experiments/new/",
        "approvals": "/approvals/",
        "approvals-history": "/approvals/history/",
        "webhooks": "/approvals/webhooks/",
        "webhook-new": "/approvals/webhooks/new/",
        "shadows": "/shadows/",
        "extenders": "/extenders/",
        "live": "/live/",
        "live-new": "/live/new/",
        "live-pod": "/live/pod/watched/default/web-0/",
        "jobs": "/jobs/",
        "tokens": "/tokens/",
        "people": "/people/",
        "person-tokens": f"/people/{at.user}/tokens/",
        "grants": "/grants/",
        "audit": "/audit/",
        "settings": "/settings/",
        "views": "/views/",
        "decisions-together": f"/clusters/{c}/together/?pod={at.fitting}&pod={at.stuck}&policy={p}",
        "pods:reason": f"/pods/?cluster={c}&reason=Insufficient+cpu",
        "nodes:none": f"/nodes/?cluster={c}&zone=-",
        "password": "/password/",
        "login": "/login/",
        "account_login": "/login/",
        "password-forgotten": "/login/forgotten/",
        "password-mailed": "/login/forgotten/sent/",
        "mfa_index": "/factors/",
        "account_reauthenticate": "/factors/password/",
    }
    if at.classic:
        classic = f"/policies/{at.classic}"
        addresses |= {
            "policy-profile": f"{classic}/profile/",
            "policy:classic": f"{classic}/?cluster={c}",
            "policy-effective:classic": f"{classic}/effective/",
            "policy-diff:classic": f"{classic}/diff/",
            "decision:classic": f"/decision/{c}/{at.fitting}/?policy={at.classic}&revision=1&against={p}@{r}",
            "decision:classic-stuck": f"/decision/{c}/{at.stuck}/?policy={at.classic}&node={at.node}",
        }
    if at.crane:
        addresses |= {
            "policy:crane": f"/policies/{at.crane}/",
            "policy:pointing": "/policies/aware/",
            "policy-effective:crane": f"/policies/{at.crane}/effective/",
        }
    if at.karpenter:
        addresses |= {
            "policy:karpenter": f"/policies/{at.karpenter}/",
            "policy-effective:karpenter": f"/policies/{at.karpenter}/effective/",
        }
    if at.scenario:
        scenario = f"/scenarios/{at.scenario}"
        addresses |= {
            "scenario": f"{scenario}/",
            "scenario-files": f"{scenario}/files/",
            "scenario-revisions": f"{scenario}/revisions/",
            "scenario-diff": f"{scenario}/diff/?from=1&to=2",
            "scenario-delete": f"{scenario}/delete/",
        }
    addresses |= {"experiment": f"/experiments/{at.experiment}/"} if at.experiment else {}
    addresses |= {"scenario-explained": f"/scenarios/{at.ready}/explained/"} if at.ready else {}
    if at.groups:
        groups = f"/clusters/{at.groups}/podgroups"
        addresses |= {
            "pod-groups": f"{groups}/",
            "pod-group": f"{groups}/default/gang/?gates=on",
            "pod-group:off": f"{groups}/default/gang/",
        }
    if at.run:
        addresses |= {"run": f"/runs/{at.run}/", "run:begin": f"/runs/{at.run}/?at=0&state=waiting"}
        addresses |= {"run:node": f"/runs/{at.run}/?at=60&show=memory&group=zone-1&focus={at.run_node}"}
        addresses |= {"run-decision": f"/runs/{at.run}/pods/{at.run_pod}/"}
    addresses |= {"comparison": f"/comparisons/{at.comparison}/"} if at.comparison else {}
    addresses |= {"gate-verdict": f"/gate/{at.gate}/"} if at.gate else {}
    addresses |= {"migration-answer": f"/migration/{at.moves}/"} if at.moves else {}
    addresses |= (
        {"tried": f"/trying/{at.tried_change}/", "tried:moved": f"/trying/{at.tried_change}/?what=moved"}
        if at.tried_change
        else {}
    )
    addresses |= (
        {"right-sizing-workload": f"/right-sizing/workload/?cluster={c}&workload={at.sized}"} if at.sized else {}
    )
    addresses |= {"fleet-trial": f"/fleet/trials/{at.fleet}/"} if at.fleet else {}
    addresses |= {"autoscaling-answer": f"/autoscaling/{at.autoscaling}/"} if at.autoscaling else {}
    addresses |= {"capacity-answer": f"/capacity/answers/{at.capacity}/"} if at.capacity else {}
    addresses |= {"run:descheduled": f"/runs/{at.descheduled}/"} if at.descheduled else {}
    addresses |= {"descheduling-answer": f"/descheduling/dry-runs/{at.evicting}/"} if at.evicting else {}
    addresses |= {"plans-answer": f"/plans/{at.planned}/"} if at.planned else {}
    addresses |= {"decision-answer": f"/decisions/questions/{at.decided}/"} if at.decided else {}
    addresses |= {"decision-answer:effect": f"/decisions/questions/{at.effect}/"} if at.effect else {}
    addresses |= {"sweep": f"/sweeps/{at.sweep}/"} if at.sweep else {}
    addresses |= {"recording": f"/recordings/{at.recording}/"} if at.recording else {}
    addresses |= {"approval": f"/approvals/{at.approval}/"} if at.approval else {}
    if at.webhook:
        webhook = f"/approvals/webhooks/{at.webhook}"
        addresses |= {"webhook": f"{webhook}/", "webhook-delete": f"{webhook}/delete/"}
    if at.live:
        live = f"/live/{at.live}"
        addresses |= {
            "cluster-credentials": "/clusters/watched/credentials/",
            "live-scheduler": f"{live}/",
            "live-change": f"{live}/change/",
            "live-mode": f"{live}/mode/",
            "live-rollout": f"{live}/rollout/?revision=1",
            "live-setup": f"{live}/setup/",
            "live-mode:off": f"{live}/mode/?mode=off",
            "live-decision": f"{live}/decisions/{at.live_decision}/",
            "live-extender": f"{live}/extender/",
            "live-shadow": f"{live}/shadow/",
            "live-delete": f"{live}/delete/",
        }
    if at.sandbox:
        addresses |= {"sandbox": "/sandbox/", "sandbox-object": f"/sandbox/objects/Pod/{at.sandbox}/"}
    return addresses | job_addresses(at) | _queue_pages(at)


def split_queued(at: Places) -> tuple[str, str, str]:
    """The cluster, the queue, and "namespace/name" of the workload that waits for quota."""
    cluster, _, rest = at.queued.partition("/")
    queue, _, workload = rest.partition("/")
    return cluster, queue, workload


def _queue_pages(at: Places) -> dict[str, str]:
    if not at.queued:
        return {}
    cluster, queue, workload = split_queued(at)
    return {
        "queues:tree": f"/queues/?cluster={cluster}",
        "queue-admission": f"/queues/admission/?cluster={cluster}",
        "queue-admission:answer": f"/queues/admission/?cluster={cluster}&workload={workload}",
        "queue": f"/queues/{cluster}/{queue}/",
        "queue-workload": f"/queues/{cluster}/{workload}/",
    }


def job_addresses(at: Places) -> dict[str, str]:
    addresses = {"job": f"/jobs/{at.job}/"} if at.job else {}
    if at.repository:
        repository = f"/policies/repositories/{at.repository}/"
        addresses |= {"repository": repository, "repository-delete": f"{repository}delete/"}
    return addresses | ({"pod-history": f"/decision/{at.flown}/history/?policy={at.policy}"} if at.flown else {})


def resources(at: Places) -> dict[str, str]:
    """Address of everything that REST lets one GET, by the name of its route."""
    cluster, policy = f"/api/v1/clusters/{at.cluster}", f"/api/v1/policies/{at.policy}"
    addresses = {
        "root": "/api/v1/",
        "fleet": "/api/v1/fleet/",
        "fleet-search": "/api/v1/fleet/search/?q=web",
        "fleet-trials": "/api/v1/fleet/trials/",
        "clusters": "/api/v1/clusters/",
        "cluster": f"{cluster}/",
        "snapshots": f"{cluster}/snapshots/",
        "annotations": f"{cluster}/annotations/",
        "annotation-findings": f"{cluster}/annotations/findings/",
        "nodes": f"{cluster}/nodes/",
        "pods": f"{cluster}/pods/",
        "events": f"{cluster}/events/?kind=Pod&namespace=default",
        "cluster-flight": f"{cluster}/flight/",
        "cluster-map": f"{cluster}/map/",
        "cluster-map-frames": f"{cluster}/map/frames/?show=memory",
        "cluster-map-pods": f"{cluster}/map/pods/?node={at.node}",
        "prices": f"{cluster}/prices/",
        "cost": f"{cluster}/cost/?by=workload",
        "cost-unpriced": f"{cluster}/cost/unpriced/",
        "watermark-source": f"{cluster}/watermarks/source/",
        "watermark-presets": "/api/v1/watermark-presets/",
        "decision": f"{cluster}/pods/{at.fitting}/decision/",
        "node-report": f"{cluster}/nodes/{at.node}/report/",
        "devices": f"{cluster}/pods/{at.fitting}/devices/",
        "load-aware": f"{cluster}/load-aware/?pod={at.fitting}",
        "load-aware-curves": f"/api/v1/load-aware/curves/?policy={at.policy}",
        "classic": "/api/v1/classic/",
        "policies": "/api/v1/policies/",
        "repositories": "/api/v1/repositories/",
        "policy": f"{policy}/",
        "revisions": f"{policy}/revisions/",
        "revision": f"{policy}/revisions/{at.revision}/",
        "policy-schema": "/api/v1/policy-schema/?release=1.35",
        "revision-profiles": f"{policy}/revisions/{at.revision}/profiles/",
        "revision-document": f"{policy}/revisions/{at.revision}/document",
        "policy-diff": f"{policy}/diff/?from={max(at.revision - 1, 1)}&to={at.revision}",
        "watermark-history": f"{cluster}/watermarks/history/",
        "watermark-skew": f"{cluster}/watermarks/skew/",
        "watermark-distribution": f"{cluster}/watermarks/distribution/",
        "watermark-nodes": f"{cluster}/watermarks/nodes/",
        "watermark-workloads": f"{cluster}/watermarks/workloads/",
        "scenarios": "/api/v1/scenarios/",
        "runs": "/api/v1/runs/",
        "comparisons": "/api/v1/comparisons/",
        "gate": "/api/v1/gate/",
        "moves": "/api/v1/moves/",
        "right-sizing": f"/api/v1/right-sizing/?cluster={at.cluster}",
        "right-sizing-export": f"/api/v1/right-sizing/export/?cluster={at.cluster}",
        "trying": "/api/v1/trying/",
        "sweeps": "/api/v1/sweeps/",
        "recordings": "/api/v1/recordings/",
        "experiments": "/api/v1/experiments/",
        "approvals": "/api/v1/approvals/",
        "webhooks": "/api/v1/webhooks/",
        "live": "/api/v1/live/",
        "jobs": "/api/v1/jobs/",
        "job-limits": "/api/v1/jobs/limits/",
        "tokens": "/api/v1/tokens/",
        "users": "/api/v1/users/",
        "user": f"/api/v1/users/{at.user}/",
        "user-tokens": f"/api/v1/users/{at.user}/tokens/",
        "allowed-addresses": "/api/v1/allowed-addresses/",
        "grants": "/api/v1/grants/",
        "audit": "/api/v1/audit/",
        "display": "/api/v1/display/",
        "lists": "/api/v1/lists/",
        "list": "/api/v1/lists/pods/",
        "views": "/api/v1/views/",
        "decisions-together": f"{cluster}/decisions/?pod={at.fitting}&pod={at.stuck}",
    }
    for is_seeded, rows in _of_rows(at):
        if is_seeded:
            addresses |= rows
    return addresses


def _of_queued(at: Places) -> dict[str, str]:
    if not at.queued:
        return {}
    cluster, queue, workload = split_queued(at)
    base = f"/api/v1/clusters/{cluster}"
    return {
        "queues": f"{base}/queues/",
        "queue": f"{base}/queues/{queue}/",
        "queued-workload": f"{base}/workloads/{workload}/",
    }


def _of_rows(at: Places) -> list[tuple[str | int, dict[str, str]]]:
    """List addresses that exist only with such a row: its id, and the addresses."""
    api, cluster = "/api/v1", f"/api/v1/clusters/{at.cluster}"
    scenario, run, webhook, live = (
        f"{api}/scenarios/{at.scenario}",
        f"{api}/runs/{at.run}",
        f"{api}/webhooks/{at.webhook}",
        f"{api}/live/{at.live}",
    )
    of_scenario = {
        "scenario": f"{scenario}/",
        "scenario-files": f"{scenario}/files/",
        "scenario-file": f"{scenario}/files/nodes.csv/",
        "scenario-revisions": f"{scenario}/revisions/",
        "scenario-revision": f"{scenario}/revisions/1/",
        "scenario-diff": f"{scenario}/diff/",
    }
    of_run = {
        "run": f"{run}/",
        "run-pods": f"{run}/pods/",
        "run-moves": f"{run}/moves/",
        "run-samples": f"{run}/samples/",
        "run-deeds": f"{run}/deeds/",
        "run-descheduler": f"{run}/descheduler/",
        "run-evictions": f"{run}/evictions/",
        "run-queues": f"{run}/queues/",
        "run-jobs": f"{run}/jobs/",
        "run-scalings": f"{run}/scalings/",
        "run-map": f"{run}/map/",
        "run-map-frames": f"{run}/map/frames/?show=state",
        "run-map-pods": f"{run}/map/pods/?node={at.run_node}",
        "run-report": f"{run}/report/",
        "run-decision": f"{run}/pods/{at.run_pod}/decision/",
    }
    of_comparison = {
        "comparison": f"{api}/comparisons/{at.comparison}/",
        "comparison-moved": f"{api}/comparisons/{at.comparison}/moved/",
        "comparison-report": f"{api}/comparisons/{at.comparison}/report/",
    }
    experiment = f"{api}/experiments/{at.experiment}"
    repository = f"{api}/repositories/{at.repository}"
    of_repository = {"repository": f"{repository}/", "repository-status": f"{repository}/status/"}
    of_live = {
        "live-scheduler": f"{live}/",
        "live-rollout": f"{live}/rollout/",
        "live-decisions": f"{live}/decisions/",
        "live-decision": f"{live}/decisions/{at.live_decision}/",
        "live-extender": f"{live}/extender/",
        "live-shadow": f"{live}/shadow/",
        "live-shadow-drift": f"{live}/shadow/drift/",
    }
    groups = f"{api}/clusters/{at.groups}/podgroups"
    sandbox = f"{api}/sandbox"
    of_sandbox = {
        "sandbox": f"{sandbox}/",
        "sandbox-events": f"{sandbox}/events/",
        "sandbox-objects": f"{sandbox}/objects/",
        "sandbox-object": f"{sandbox}/objects/Pod/{at.sandbox}/",
    }
    return [
        (at.sandbox, of_sandbox),
        (at.groups, {"podgroups": f"{groups}/", "podgroup": f"{groups}/default/gang/?gates=on"}),
        (at.queued, _of_queued(at)),
        (at.approval, {"approval": f"{api}/approvals/{at.approval}/"}),
        (at.scenario, of_scenario),
        (at.run, of_run),
        (at.comparison, of_comparison),
        (at.gate, {"gate-verdict": f"{api}/gate/{at.gate}/"}),
        (at.moves, {"moves-answer": f"{api}/moves/{at.moves}/", "moves-pods": f"{api}/moves/{at.moves}/pods/"}),
        (at.fleet, {"fleet-trial": f"{api}/fleet/trials/{at.fleet}/"}),
        (
            at.tried_change,
            {"tried": f"{api}/trying/{at.tried_change}/", "tried-pods": f"{api}/trying/{at.tried_change}/pods/"},
        ),
        (at.autoscaling, {"autoscaling-answer": f"{api}/autoscaling/{at.autoscaling}/"}),
        (at.capacity, {"capacity-answer": f"{api}/capacity/answers/{at.capacity}/"}),
        (at.evicting, {"descheduling-answer": f"{api}/descheduling/dry-runs/{at.evicting}/"}),
        (at.planned, {"plans-answer": f"{api}/plans/{at.planned}/"}),
        (at.decided, {"decision-answer": f"{api}/decisions/questions/{at.decided}/"}),
        (at.sweep, {"sweep": f"{api}/sweeps/{at.sweep}/", "sweep-trials": f"{api}/sweeps/{at.sweep}/trials/"}),
        (at.recording, {"recording": f"{api}/recordings/{at.recording}/"}),
        (at.repository, of_repository),
        (at.flown, {"pod-history": f"{api}/clusters/{at.flown.replace('/', '/history/', 1)}/"}),
        (at.grant, {"grant": f"{api}/grants/{at.grant}/"}),
        (at.webhook, {"webhook": f"{webhook}/", "webhook-deliveries": f"{webhook}/deliveries/"}),
        (at.experiment, {"experiment": f"{experiment}/", "experiment-report": f"{experiment}/report/"}),
        (at.live, of_live),
        (at.view, {"view": f"{api}/views/{at.view}/"}),
        (at.job, {"job": f"{api}/jobs/{at.job}/"}),
        (at.snapshot, {"snapshot": f"{cluster}/snapshots/{at.snapshot}/"}),
        (at.token, {"token": f"{api}/tokens/{at.token}/", "user-token": f"{api}/users/{at.user}/tokens/{at.token}/"}),
    ]


def with_changes(at: Places, **changes: object) -> Places:
    return replace(at, **changes)  # type: ignore[arg-type]
