"""HumanApproval where policies are written and decisions explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import yaml

from kschedweb.policies.editing import form
from kschedweb.policies.services import policy_create
from tests.support import seed

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.accounts.models import User

RULES = [
    {
        "name": "production",
        "namespaces": ["default"],
        "podSelector": {"matchLabels": {"app": "seeded"}},
        "approvals": [{"role": "approver", "count": 2}],
        "timeout": "4h",
        "reason": "Production is looked after.",
    }
]
DOCUMENT = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {"permit": {"enabled": [{"name": "HumanApproval"}]}},
            "pluginConfig": [{"name": "HumanApproval", "args": {"rules": RULES}}],
        }
    ],
}


def test_a_decision_says_that_the_pod_would_wait_for_whom_and_why(
    client_as: Callable[[str], Client], admin: User
) -> None:
    seed.imported("seeded", seed.cluster(3, 12), admin)
    policy_create(name="held", document=yaml.safe_dump(DOCUMENT), author=admin)
    address = "/decision/seeded/default/pending-00000/?policy=held"
    page_text = " ".join(client_as("viewer").get(address).content.decode().split())
    assert (
        "Before it is bound, it would be waiting for approval by 2 approvers for 4 h, because it is in namespace "
        "default and its labels match (app=seeded). Without an answer it would be rejected. Production is looked after."
    ) in page_text
    decision = (
        client_as("viewer").get("/api/v1/clusters/seeded/pods/default/pending-00000/decision/?policy=held").json()
    )
    assert decision["asks"]["HumanApproval"]["approvals"] == [{"role": "approver", "count": 2}]


def test_the_form_shows_every_field_of_a_rule_and_gives_it_back() -> None:
    """A table would leave out what does not fit into a cell: whole lists and selectors."""
    row = next(row for row in form.build_form(DOCUMENT, 0, []).plugins if row.name == "HumanApproval")
    assert row.state == "on"
    assert row.arguments is not None
    rules = next(argument for argument in row.arguments.walk() if argument.label == "rules")
    assert yaml.safe_load(rules.value) == RULES
    matching = next(argument for argument in row.arguments.walk() if argument.label == "matching")
    assert (matching.default, matching.choices) == ("First", ["First", "All"])


def test_without_it_nothing_is_asked(client_as: Callable[[str], Client], admin: User) -> None:
    seed.imported("seeded", seed.cluster(3, 12), admin)
    address = "/api/v1/clusters/seeded/pods/default/pending-00000/decision/"
    assert "asks" not in client_as("viewer").get(address).json()
