"""Messages of measures of runs, their groups, the checks of the gate, and reasons why pods had to leave."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from kschedweb.engine.studies.measure.registry import list_messages

MEASURES = (
    *list_messages(),
    # Checks of the gate.
    gettext_noop("All %(count)s checks pass."),
    gettext_noop("The check passes."),
    gettext_noop("%(failed)s of %(count)s checks fail: %(why)s"),
    gettext_noop("%(failed)s of %(count)s checks fails: %(why)s"),
    gettext_noop("%(failed)s of 1 check fails: %(why)s"),
    gettext_noop("Newly unschedulable pods"),
    gettext_noop("No pod is newly unschedulable; %(allowed)s."),
    gettext_noop("%(count)s pods find no node but would under the baseline; %(allowed)s."),
    gettext_noop("1 pod finds no node but would under the baseline; %(allowed)s."),
    gettext_noop("Moved pods"),
    gettext_noop(
        "%(count)s pods go to another node (%(share)s %% of the %(pods)s that have one under both); %(allowed)s."
    ),
    gettext_noop(
        "1 pod goes to another node (%(share)s %% of the %(pods)s that have one under both); %(allowed)s."
    ),
    gettext_noop("%(count)s pods go to another node; %(allowed)s."),
    gettext_noop("1 pod goes to another node; %(allowed)s."),
    gettext_noop("Pods that wait at the end"),
    gettext_noop("%(count)s pods wait at the end; %(allowed)s."),
    gettext_noop("1 pod waits at the end; %(allowed)s."),
    gettext_noop("Pods without a node after the loss of a zone"),
    gettext_noop("No node has a zone, so there is no zone to lose."),
    gettext_noop("Every pod of priority %(priority)s and above finds a node again after the loss of any one zone."),
    gettext_noop(
        "%(count)s pods of priority %(priority)s and above find no node after the loss of zone %(zone)s; allowed: none."
    ),
    gettext_noop(
        "1 pod of priority %(priority)s and above finds no node after the loss of zone %(zone)s; allowed: none."
    ),
    gettext_noop("There is nothing to measure."),
    gettext_noop("%(measure)s: there is nothing to measure under the policy."),
    gettext_noop("%(measure)s: %(amount)s, the same as under the baseline; %(allowed)s."),
    gettext_noop("%(measure)s: %(amount)s, %(change)s more than under the baseline; %(allowed)s."),
    gettext_noop("%(measure)s: %(amount)s, %(change)s less than under the baseline; %(allowed)s."),
    gettext_noop("%(measure)s: %(amount)s; %(allowed)s."),
    gettext_noop("allowed: %(first)s and %(second)s"),
    gettext_noop("allowed: %(first)s"),
    gettext_noop("at most %(limit)s more or less"),
    gettext_noop("at most %(limit)s more"),
    gettext_noop("at most %(limit)s less"),
    gettext_noop("at most %(limit)s"),
    gettext_noop("at least %(limit)s"),
    gettext_noop("none"),
    # Why a pod had to leave.
    gettext_noop("preempted"),
    gettext_noop("evicted"),
    gettext_noop("failed"),
    gettext_noop("lost with its node"),
    gettext_noop("memory"),
)  # fmt: skip
