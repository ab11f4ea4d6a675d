"""Every list, filter, search, export and page over tables that have grown, and how long each takes.

    DATABASE_URL=postgres://… REDIS_URL=… python -m tests.bench.decisions --rows 5000000

fills an empty PostgreSQL database with so many live decisions, and everything else in proportion, then prints a table.
``--keep`` leaves the rows there, ``--filled`` measures what an earlier run left.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

LIMIT = 1.0  # seconds
NEW_LINE = b"\n"
LIVE = UUID(int=0xC0FFEE)
DAYS = 30
DOCUMENT = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.accounts.models import User

# {rows}: live decisions, {live}, {user}, {endpoint}: ids. A row's time goes evenly back over DAYS, the newest is now.
AGO = "now() - i * (interval '{days} days' / {of})"
FILL = {
    "scheduling_livedecision": """
INSERT INTO scheduling_livedecision (id, scheduler_id, at, namespace, name, uid, attempt, result, ended_at, node,
  nominated, evaluated, feasible, margin, top, durations, latency, rejected_by, message, epoch, has_columns)
SELECT md5('decision' || i)::uuid, '{live}', at, namespace, app || '-' || substr(md5('pod' || i / 3), 1, 10),
  md5('pod' || i / 3)::uuid::text, 1 + i % 3, result, CASE WHEN result = 'held' THEN NULL ELSE at END,
  CASE WHEN result = 'unschedulable' THEN '' ELSE 'node-' || (i::bigint * 7919 % 5000) END, '', 5000,
  100 + i % 400, i % 90,
  jsonb_build_array(jsonb_build_object('node', 'node-' || (i::bigint * 7919 % 5000), 'total', 700 + i % 90, 'scores',
    '{{"NodeResourcesFit": 88, "NodeResourcesBalancedAllocation": 93, "TaintToleration": 300}}'::jsonb)),
  '{{"PreFilter": 0.0001, "Filter": 0.0021, "PreScore": 0.0001, "Score": 0.0013, "Bind": 0.0052}}'::jsonb,
  0.02 + (i % 100) / 1000.0, '[]'::jsonb,
  CASE WHEN result = 'unschedulable' THEN
    '0/5000 nodes are available: 1200 node(s) had untolerated taint(s), ' || 3800 - i % 9 || ' Insufficient cpu.'
  ELSE '' END, 1, i % 100 = 0
FROM (SELECT i, {ago} AS at,
  CASE WHEN i % 10 < 6 THEN 'default' WHEN i > {of} * 0.98 AND i % 10 = 7 THEN 'retired'
    ELSE 'team-' || i % 40 END AS namespace,
  (ARRAY['api', 'web', 'worker', 'batch', 'cache'])[1 + i % 5] AS app,
  CASE WHEN i % 50000 = 1 THEN 'held' WHEN i % 100 < 8 THEN 'unschedulable' WHEN i % 100 = 8 THEN 'denied'
    WHEN i > {of} * 0.99 AND i % 1000 = 9 THEN 'error' ELSE 'bound' END AS result
  FROM generate_series(0, {of} - 1) i) made""",
    "scheduling_livecolumns": """
INSERT INTO scheduling_livecolumns (decision_id, content)
SELECT id, decode(repeat(md5(id::text), 64), 'hex') FROM scheduling_livedecision WHERE has_columns""",
    "shadow_shadowverdict": """
INSERT INTO shadow_shadowverdict (id, scheduler_id, at, namespace, name, uid, verdict, node, said, best, ties, feasible,
  plugin, differences, message, late, difference)
SELECT md5('verdict' || i)::uuid, '{live}', {ago}, 'team-' || i % 40, 'api-' || substr(md5('pod' || i), 1, 10),
  md5('pod' || i)::uuid::text, CASE WHEN i % 9 = 0 THEN 'differ' ELSE 'agree' END, 'node-' || i % 5000, '',
  '["a", "b"]', 1, 300, CASE WHEN i % 9 = 0 THEN 'NodeResourcesFit' ELSE '' END, '{{"NodeResourcesFit": 12}}', '',
  false, i % 50
FROM generate_series(0, {of} - 1) i""",
    "approvals_approvalrequest": """
INSERT INTO approvals_approvalrequest (id, scheduler_id, namespace, name, uid, node, plugin, decision_id, decision, ask,
  created_by, state, open, reason, asked_at, expires_at, decided_at, decided_by, ended_at, epoch)
SELECT md5('request' || i)::uuid, '{live}', 'team-' || i % 40, 'api-' || substr(md5('pod' || i), 1, 10),
  md5('pod' || i)::uuid::text, 'node-' || i % 5000, 'HumanApproval', md5('decision' || i * 50)::uuid::text,
  jsonb_build_object('feasible', 12, 'margin', 3, 'text', repeat(md5(i::text), 30)),
  jsonb_build_object('rules', ARRAY['payments'], 'approvals', '[{{"role": "approver", "count": 1}}]'::jsonb),
  'dev-' || i % 100, state, i < 50, CASE WHEN state = 'denied' THEN 'denied by person-1: no' ELSE '' END, at,
  CASE WHEN i < 50 THEN now() + interval '7 days' ELSE at + interval '1 hour' END,
  CASE WHEN i >= 50 THEN at END, CASE WHEN i >= 50 THEN 'person-' || i % 30 ELSE '' END,
  CASE WHEN i >= 50 THEN at END, 1
FROM (SELECT i, {ago} AS at, CASE WHEN i < 50 THEN 'waiting' WHEN i % 10 = 0 THEN 'denied'
  WHEN i > {of} * 0.99 AND i % 100 = 1 THEN 'failed' ELSE 'bound' END AS state
  FROM generate_series(0, {of} - 1) i) made""",
    "approvals_vote": """
INSERT INTO approvals_vote (request_id, user_id, username, role, verdict, reason, at)
SELECT id, {user}, decided_by, 'approver', CASE WHEN state = 'denied' THEN 'deny' ELSE 'approve' END, '', decided_at
FROM approvals_approvalrequest WHERE decided_at IS NOT NULL""",
    "approvals_delivery": """
INSERT INTO approvals_delivery (id, endpoint_id, request_id, event, body, state, attempts, status, error, created_at,
  ended_at)
SELECT gen_random_uuid(), '{endpoint}', id, event, repeat(md5(uid), 20),
  CASE WHEN uid < '01' THEN 'failed' ELSE 'delivered' END, 1, 200, '', asked_at, asked_at
FROM approvals_approvalrequest, (VALUES ('request.opened'), ('request.decided')) AS events (event)""",
    "accounts_auditentry": """
INSERT INTO accounts_auditentry (at, actor_id, actor_name, verb, object_type, object_id, object_name, details)
SELECT {ago}, NULL, CASE WHEN i % 3 = 0 THEN 'person-' || i % 90 ELSE 'system' END,
  CASE WHEN i > {of} * 0.99 AND i % 1000 = 0 THEN 'cluster.connected'
    ELSE (ARRAY['approval.asked', 'approval.approved', 'approval.bound', 'job.started'])[1 + i % 4] END,
  CASE WHEN i % 4 = 3 THEN 'job' ELSE 'approvalrequest' END, md5(i::text), 'team-' || i % 40 || '/api-' || i,
  '{{"node": "node-1", "rules": ["payments"]}}'
FROM generate_series({of} - 1, 0, -1) i""",
    "jobs_job": """
INSERT INTO jobs_job (id, kind, title, params, state, done, total, step, result, error, cancel_requested, created_by_id,
  created_at, started_at, ended_at, attempt, restartable)
SELECT md5('job' || i)::uuid, 'clusters.refresh', 'Read cluster prod-' || i % 20, '{{}}',
  CASE WHEN i < 3 THEN 'queued' WHEN i > {of} * 0.99 THEN 'failed' ELSE 'succeeded' END, 1, 1, '', '{{}}', '', false,
  {user}, at, at, CASE WHEN i >= 3 THEN at END, 1, true
FROM (SELECT i, {ago} AS at FROM generate_series(0, {of} - 1) i) made""",
    "jobs_idempotencykey": """
INSERT INTO jobs_idempotencykey (user_id, key, digest, status, body, created_at)
SELECT {user}, 'key-' || i, md5(i::text), 200, '{{}}', now() - i * (interval '20 hours' / {of})
FROM generate_series(0, {of} - 1) i""",
    "django_session": """
INSERT INTO django_session (session_key, session_data, expire_date)
SELECT md5('session' || i), repeat(md5(i::text), 6), now() + interval '14 days' - i * (interval '{days} days' / {of})
FROM generate_series(0, {of} - 1) i""",
    "axes_accesslog": """
INSERT INTO axes_accesslog (user_agent, ip_address, username, http_accept, path_info, attempt_time, session_hash)
SELECT 'agent', '10.0.0.1', 'person-' || i % 90, '*/*', '/login/', {ago}, '' FROM generate_series({of} - 1, 0, -1) i""",
    "axes_accessattempt": """
INSERT INTO axes_accessattempt (user_agent, ip_address, username, http_accept, path_info, attempt_time, get_data,
  post_data, failures_since_start)
SELECT 'agent', ('10.' || i % 200 || '.' || i / 200 % 250 || '.' || i / 50000)::inet, 'person-' || i % 90, '*/*',
  '/login/', {ago}, '', '', 1 FROM generate_series({of} - 1, 0, -1) i""",
}
# How many decisions there are for one row of the table.
SHARE = {
    "scheduling_livedecision": 1,
    "shadow_shadowverdict": 5,
    "accounts_auditentry": 5,
}
USUAL_SHARE = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000, help="live decisions (default 20,000)")
    parser.add_argument("--keep", action="store_true", help="leave the rows in the database")
    parser.add_argument("--filled", action="store_true", help="the rows of an earlier run are there")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    os.environ.setdefault("KSCHEDWEB_LOG_LEVEL", "ERROR")
    os.environ.setdefault("KSCHEDWEB_ALLOWED_HOSTS", "testserver")
    os.environ.setdefault("KSCHEDWEB_SECRET_KEY", "for-this-command-only")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    if connection.vendor != "postgresql":
        sys.exit("DATABASE_URL must name an empty PostgreSQL database.")
    if not arguments.filled:
        call_command("migrate", verbosity=0)
        fill(arguments.rows)
    try:
        slow = measure()
    finally:
        if not arguments.keep:
            empty()
    sys.exit(f"{len(slow)} took longer than {LIMIT:g} s: {', '.join(slow)}" if slow else 0)


def fill(rows: int) -> None:
    """``rows`` live decisions, and everything else in proportion."""
    from django.db import connection

    from kschedweb.clusters.models import Cluster, ClusterSource
    from kschedweb.live.approvals.models import Endpoint
    from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler
    from kschedweb.policies import services as policies
    from kschedweb.policies.models import Policy

    if LiveDecision.objects.exists():
        sys.exit("There are live decisions in this database already: --filled measures those.")
    user = person()
    cluster = Cluster.objects.create(name="grown", source=ClusterSource.KUBECONFIG)
    policy = Policy.objects.first() or policies.policy_create(author=user, name="grown", document=DOCUMENT)
    LiveScheduler.objects.create(
        pk=LIVE,
        cluster=cluster,
        scheduler_name="grown",
        policy=policy,
        keep_decisions=10_000_000,
        keep_days=3650,
        keep_columns=100_000,
    )
    endpoint = Endpoint.objects.create(name="chat", url="https://chat.example.com/")
    with connection.cursor() as cursor:
        for table, statement in FILL.items():
            begun, row_count = time.perf_counter(), max(rows // SHARE.get(table, USUAL_SHARE), 1)
            ago = AGO.format(days=DAYS, of=row_count)
            cursor.execute(
                statement.format(live=LIVE, user=user.pk, endpoint=endpoint.pk, ago=ago, of=row_count, days=DAYS)
            )
            print(f"{table}: {cursor.rowcount:,} rows in {time.perf_counter() - begun:.0f} s", flush=True)
        cursor.execute("VACUUM ANALYZE")


def empty() -> None:
    """Take everything away that ``fill`` made."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(FILL)}, approvals_endpoint, clusters_cluster CASCADE")


def person() -> User:
    from kschedweb.accounts.models import User
    from kschedweb.accounts.roles import Role

    return User.objects.get_or_create(username="person-0", defaults={"role": Role.ADMIN})[0]


def measure() -> list[str]:
    """Print how long each takes; the names of those above the limit."""
    from django.db import connection
    from django.test import Client

    client = Client()
    client.force_login(person())
    client.get("/jobs/")  # what a process does once
    slow = []
    with connection.cursor() as cursor:
        for table in FILL:
            cursor.execute(f"SELECT count(*), pg_size_pretty(pg_total_relation_size(%s)) FROM {table}", [table])
            print("{}: {:,} rows, {}".format(table, *cursor.fetchone()))
    for name, do in asked_of(client):
        over = False
        for _ in range(2):  # what other programs did meanwhile is not what is asked
            begun = time.perf_counter()
            remark = do()
            seconds = time.perf_counter() - begun
            over = seconds > LIMIT and "in all" not in name
            if not over:
                break
        slow += [name] if over else []
        print(f"{seconds:8.3f} s  {'SLOW ' if over else '     '}{name}{f' ({remark})' if remark else ''}", flush=True)
    return slow


PAGES = {
    "live scheduler": "/live/{live}/",
    "live scheduler, search of a pod that is there": "/live/{live}/?search={recent}",
    "live scheduler, search of a pod of weeks ago": "/live/{live}/?search={old}",
    "live scheduler, search of nothing that is there": "/live/{live}/?search=no-such-thing",
    "live scheduler, namespace": "/live/{live}/?namespace=default",
    "live scheduler, namespace of weeks ago": "/live/{live}/?namespace=retired",
    "live scheduler, result": "/live/{live}/?result=unschedulable",
    "live scheduler, result of weeks ago": "/live/{live}/?result=error",
    "live scheduler, node": "/live/{live}/?node=node-7",
    "live scheduler, node and result without any": "/live/{live}/?node=node-7&result=error",
    "live scheduler, namespace and search": "/live/{live}/?namespace=default&search=nothing",
    "live scheduler, days": "/live/{live}/?since={day}&until={day}",
    "live scheduler, what is new since a week, with a search": "/live/{live}/now/?search=nothing&opened={week}",
    "live scheduler, over REST": "/api/v1/live/{live}/decisions/?limit=500",
    "live scheduler, search over REST": "/api/v1/live/{live}/decisions/?search=no-such-thing",
    "a decision": "/live/{live}/decisions/{decision}/",
    "decisions about a pod": "/live/pod/grown/{namespace}/{name}/",
    "shadow": "/live/{live}/shadow/",
    "shadow, 30 days": "/live/{live}/shadow/?span=30d",
    "shadow, search": "/live/{live}/shadow/?search=no-such-thing",
    "shadow, verdict": "/live/{live}/shadow/?verdict=infeasible",
    "shadow, plugin": "/live/{live}/shadow/?plugin=NodeName",
    "approvals": "/approvals/",
    "approvals, badge": "/approvals/badge/",
    "approvals, news": "/approvals/news/?since={week}",
    "approvals, one": "/approvals/{request}/",
    "approvals, history": "/approvals/history/",
    "approvals, search": "/approvals/history/?search=no-such-thing",
    "approvals, state of weeks ago": "/approvals/history/?state=failed",
    "approvals, namespace": "/approvals/history/?namespace=team-3",
    "approvals, unknown namespace": "/approvals/history/?namespace=nothing",
    "approvals, cluster": "/approvals/history/?cluster=grown",
    "approvals, days": "/approvals/history/?since={day}&until={day}",
    "approvals over REST": "/api/v1/approvals/?state=waiting",
    "webhooks": "/approvals/webhooks/",
    "deliveries of a webhook": "/approvals/webhooks/{endpoint}/",
    "deliveries over REST": "/api/v1/webhooks/{endpoint}/deliveries/",
    "audit": "/audit/",
    "audit, search": "/audit/?search=no-such-thing",
    "audit, who": "/audit/?actor=PERSON-3",
    "audit, nobody": "/audit/?actor=nobody-of-this-name",
    "audit, what": "/audit/?verb=cluster.connected",
    "audit, what in part": "/audit/?verb=cluster",
    "audit, kind of thing": "/audit/?object_type=policy",
    "audit, name of thing": "/audit/?object_name=team-3/api-43",
    "audit, days": "/audit/?since={day}&until={day}",
    "audit over REST": "/api/v1/audit/?search=no-such-thing",
    "jobs": "/jobs/",
    "jobs, search": "/jobs/?search=no-such-thing",
    "jobs, state": "/jobs/?state=failed",
    "jobs over REST": "/api/v1/jobs/?search=no-such-thing",
    "overview": "/",
    "live schedulers": "/live/",
}
DEEP = {
    "live scheduler, deep in the list": "/api/v1/live/{live}/decisions/?limit=500",
    "audit, deep in the list": "/api/v1/audit/?limit=500",
}


def asked_of(client: Client) -> Iterator[tuple[str, Callable[[], str]]]:
    """(what, how to do it) for each list, search, page and file."""
    values = _values()
    for name, address in PAGES.items():
        yield name, _visit(client, address.format(**values))
    for name, address in DEEP.items():
        yield name, _deep(client, address.format(**values))
    for name, address in (("decisions", "/live/{live}/?format=csv"), ("audit", "/audit/?format=csv")):
        response: list[Any] = []
        yield f"CSV of {name}, first line", _begin(client, address.format(**values), response)
        yield f"CSV of {name}, in all", _count_rest(response)
    yield from _cleanings()


def _values() -> dict[str, Any]:
    from datetime import timedelta

    from django.utils import timezone

    from kschedweb.live.approvals.models import ApprovalRequest, Endpoint
    from kschedweb.live.schedulers.models import LiveDecision

    rows = LiveDecision.objects.filter(scheduler=LIVE).order_by("-at")
    recent, old = rows[10], LiveDecision.objects.filter(scheduler=LIVE).order_by("at")[10]
    week = timezone.now() - timedelta(days=7)
    return {
        "live": LIVE,
        "decision": recent.pk,
        "recent": recent.name,
        "old": old.name,
        "namespace": recent.namespace,
        "name": recent.name,
        "request": ApprovalRequest.objects.order_by("asked_at")[0].pk,
        "endpoint": Endpoint.objects.get(name="chat").pk,
        "day": (timezone.now() - timedelta(days=20)).date().isoformat(),
        "week": week.isoformat().replace("+", "%2B"),
    }


def _visit(client: Client, address: str) -> Callable[[], str]:
    def visit() -> str:
        response = client.get(address)
        assert response.status_code == 200, f"{address}: {response.status_code}"
        return ""

    return visit


def _deep(client: Client, address: str) -> Callable[[], str]:
    """A page in the middle of the list: its cursor is made of a row that is there."""
    import base64
    import json

    from kschedweb.accounts.models import AuditEntry
    from kschedweb.live.schedulers.models import LiveDecision

    rows: Any = AuditEntry.objects.all() if "audit" in address else LiveDecision.objects.filter(scheduler=LIVE)
    middle = rows.order_by("-at")[rows.count() // 2]
    key = middle.pk if isinstance(middle.pk, int) else str(middle.pk)
    cursor = base64.urlsafe_b64encode(json.dumps([False, [middle.at.isoformat(), key]]).encode()).decode().rstrip("=")
    return _visit(client, f"{address}&cursor={cursor}")


def _begin(client: Client, address: str, response: list[Any]) -> Callable[[], str]:
    def begin() -> str:
        answer = client.get(address)
        assert answer.status_code == 200
        parts = iter(answer.streaming_content)  # type: ignore[attr-defined]
        response[:] = [parts]
        next(parts), next(parts)
        return ""

    return begin


def _count_rest(response: list[Any]) -> Callable[[], str]:
    def count_rest() -> str:
        return f"{sum(part.count(NEW_LINE) for part in response[0]):,} more lines"

    return count_rest


def _cleanings() -> Iterator[tuple[str, Callable[[], str]]]:
    """The clean-up with nothing to delete, then with 10,000 decisions more than are kept."""
    from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler
    from kschedweb.web.retention import rows_delete

    def cleaned() -> str:
        return ", ".join(f"{rows:,} of {table}" for table, rows in rows_delete().items()) or "nothing"

    while rows_delete():  # what is too old of other tables
        pass
    yield "clean-up, in all, with nothing to delete", cleaned
    keep = LiveDecision.objects.filter(scheduler=LIVE).count() - 10_000
    LiveScheduler.objects.filter(pk=LIVE).update(keep_decisions=max(keep, 100))
    yield "clean-up, in all, of 10,000 decisions", cleaned


if __name__ == "__main__":
    main()
