"""Rights by mode, and the manifests that give them: nothing more, nothing twice."""

from __future__ import annotations

from io import StringIO

import pytest
import yaml
from django.core.management import call_command

from kschedweb.live.schedulers.election.locks import PARTS
from kschedweb.live.schedulers.election.objectlock import ObjectLock
from kschedweb.live.schedulers.models import Mode
from kschedweb.live.schedulers.rbac import (
    EXTENDER,
    MODES,
    SCHEDULING,
    SHADOW,
    Needs,
    Right,
    build_manifests,
    policy_rules,
    rights_for,
)
from kschedweb.web.errors import Unprocessable


def granted(policy_rules: list[dict]) -> set[tuple[str, str, str, str]]:
    """Every (group, resource, verb, name) that rules give."""
    return {
        (group, resource, verb, name)
        for rule in policy_rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def writes(needs: Needs) -> set[str]:
    return {str(right) for right in rights_for(needs) if right.verb not in ("list", "watch")}


ALL = [
    Needs(mode, preemption=preemption, keep_budgets=budgets, binds=binds)
    for mode in MODES
    for preemption, budgets in ((False, False), (True, False), (True, True))
    for binds in (False, True)
]


@pytest.mark.parametrize("needs", ALL, ids=str)
def test_manifests_give_exactly_the_rights_of_a_mode(needs: Needs) -> None:
    objects = build_manifests(needs)
    roles = {item["kind"]: item["rules"] for item in objects if item["kind"] in ("ClusterRole", "Role")}
    for kind, role_rules in roles.items():
        expected = [right for right in rights_for(needs) if bool(right.namespace) == (kind == "Role")]
        assert granted(role_rules) == {(right.group, right.resource, right.verb, right.name) for right in expected}
        assert len(expected) == len(set(expected))
    assert ("Role" in roles) == any(right.namespace for right in rights_for(needs))


def test_every_mode_that_does_something_has_rights() -> None:
    assert set(MODES) == set(Mode.values) - {Mode.OFF}
    with pytest.raises(Unprocessable, match="mode off"):
        Needs("off")
    with pytest.raises(Unprocessable, match="no lock etcd"):
        Needs(SCHEDULING, lock="etcd")


def test_only_who_schedules_writes_to_pods() -> None:
    lease = {f"{verb} leases water in kube-system" for verb in ("get", "update")}
    election = lease | {"create leases in kube-system", "create events in kube-system"}
    assert writes(Needs(SHADOW, lease="water")) == set()
    assert writes(Needs(EXTENDER)) == set()
    assert writes(Needs(EXTENDER, binds=True)) == {"create pods/binding", "get pods"}
    plain = Needs(SCHEDULING, lease="water", volumes=False, devices=False, groups=False)
    reports = {"patch pods/status", "create events", "patch events"}
    assert writes(plain) == election | reports | {"create pods/binding", "get pods"}


def test_only_who_schedules_groups_reports_on_them() -> None:
    right = "patch podgroups/status"
    assert right in writes(Needs(SCHEDULING))
    assert right not in writes(Needs(SCHEDULING, groups=False)) | writes(Needs(EXTENDER)) | writes(Needs(SHADOW))


@pytest.mark.parametrize(("lock", "parts"), PARTS.items())
def test_an_election_needs_its_lock_by_name_and_no_other(lock: str, parts: tuple[type[ObjectLock], ...]) -> None:
    rights = {right for right in rights_for(Needs(SCHEDULING, lock=lock, lease="water")) if right.namespace}
    expected = {
        (part.resource, verb, "" if verb == "create" else "water")
        for part in parts
        for verb in ("create", "get", "update")
    }
    assert {(right.resource, right.verb, right.name) for right in rights} == expected | {("events", "create", "")}
    assert {right.namespace for right in rights} == {"kube-system"}


def test_pods_are_deleted_only_where_room_may_be_made() -> None:
    assert "delete pods" not in writes(Needs(SCHEDULING))
    assert "delete pods" in writes(Needs(SCHEDULING, preemption=True))
    gentle = writes(Needs(SCHEDULING, preemption=True, keep_budgets=True))
    assert "create pods/eviction" in gentle
    assert "delete pods" not in gentle


def test_no_mode_reads_secrets_or_takes_everything() -> None:
    for needs in ALL:
        for right in rights_for(needs):
            assert right.resource not in ("secrets", "configmaps", "endpoints")
            assert "*" not in (right.group, right.resource, right.verb)
            assert right.costs


def test_rights_with_the_same_verbs_share_a_rule() -> None:
    rights = [Right("", "pods", "list"), Right("", "nodes", "list"), Right("apps", "replicasets", "list")]
    assert policy_rules(rights) == [
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list"]},
        {"apiGroups": ["apps"], "resources": ["replicasets"], "verbs": ["list"]},
    ]


def test_the_command_prints_what_kubectl_takes() -> None:
    printed = StringIO()
    words = "--mode scheduling --scheduler-name water --lock endpoints --namespace tools --service-account robot"
    call_command("rbac", *words.split(), "--preemption", stdout=printed)
    objects = list(yaml.safe_load_all(printed.getvalue()))
    needs = Needs(SCHEDULING, lock="endpoints", lease="kschedweb-water", preemption=True)
    assert objects == build_manifests(needs, account="robot", namespace="tools")
    assert objects[1]["metadata"] == {"name": "robot", "namespace": "tools"}
