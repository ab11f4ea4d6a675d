"""Rules for people who decide, and for when enough of them have."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.live.approvals import rules

ROLE = st.sampled_from(("approver", "admin"))


def ask(approver: int = 0, admin: int = 0) -> dict:
    counts = {"approver": approver, "admin": admin}
    return {"approvals": [{"role": role, "count": count} for role, count in counts.items() if count]}


@pytest.mark.parametrize(
    ("question", "roles", "missing"),
    [
        (ask(approver=1), [], {"approver": 1}),
        (ask(approver=1), ["approver"], {}),
        (ask(approver=1), ["admin"], {}),
        (ask(admin=1), ["approver", "approver"], {"admin": 1}),
        (ask(approver=1, admin=1), ["admin"], {"approver": 1}),
        (ask(approver=1, admin=1), ["admin", "approver"], {}),
        (ask(approver=1, admin=1), ["admin", "admin"], {}),
        (ask(approver=2), ["approver", "viewer"], {"approver": 1}),
    ],
)
def test_each_person_counts_once_and_an_admin_also_for_an_approver(question: dict, roles: list, missing: dict) -> None:
    assert rules.missing_approvals(question, roles) == missing


@given(st.integers(0, 3), st.integers(0, 3), st.lists(ROLE, max_size=6))
def test_there_are_enough_exactly_where_people_can_be_given_all_the_places(
    approver: int, admin: int, roles: list[str]
) -> None:
    places = ["approver"] * approver + ["admin"] * admin
    possible = len(roles) >= len(places) and any(
        all(place in rules.STANDS_FOR[role] for role, place in zip(order, places, strict=False))
        for order in itertools.permutations(roles)
    )
    assert (not rules.missing_approvals(ask(approver, admin), roles)) == (possible or not places)


@given(st.integers(0, 3), st.integers(0, 3), st.lists(ROLE, max_size=5))
def test_the_order_of_the_votes_makes_no_difference(approver: int, admin: int, roles: list[str]) -> None:
    question = ask(approver, admin)
    assert rules.missing_approvals(question, roles) == rules.missing_approvals(question, roles[::-1])


def test_only_those_who_are_asked_may_decide() -> None:
    assert not rules.may_decide(ask(admin=1), "approver")
    assert rules.may_decide(ask(approver=1), "admin")
    assert not rules.may_decide(ask(approver=1), "editor")


def test_a_pod_is_ones_own_by_name_or_email_where_the_rule_forbids_it() -> None:
    rule = {"ownPods": "Forbid", "createdBy": "Alice@example.com"}
    assert rules.is_own(rule, "alice", "alice@EXAMPLE.com")
    assert not rules.is_own(rule, "bob", "")
    assert not rules.is_own(rule | {"ownPods": "Allow"}, "alice", "alice@example.com")
    assert not rules.is_own({"ownPods": "Forbid", "createdBy": ""}, "alice", "")


def test_people_are_named_in_words() -> None:
    assert rules.describe_people({"admin": 1, "approver": 2}) == "one admin and 2 approvers"
