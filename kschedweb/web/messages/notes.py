"""Messages about parts of a scenario, a file or a recording that were left out or read differently."""

from __future__ import annotations

from django.utils.translation import gettext_noop

NOTES = (
    # Files of a scenario.
    gettext_noop("%(file)s, line %(line)s: is left out: %(why)s"),
    gettext_noop("is left out: %(why)s"),
    gettext_noop("%(count)s more lines are left out"),
    gettext_noop("times run backwards %(count)s times, first in line %(line)s: put in order"),
    gettext_noop("has about %(count)s lines that can be used; a scenario takes at most %(most)s"),
    gettext_noop("only the first %(count)s of %(total)s lines were looked at one by one"),
    gettext_noop("pods that asked for a share of a GPU ask for a whole one here"),
    gettext_noop("1 pod asks for a share of %(resource)s, which is rounded up: kube-scheduler counts whole ones"),
    gettext_noop(
        "%(count)s pods ask for a share of %(resource)s, which is rounded up: kube-scheduler counts whole ones"
    ),
    gettext_noop("%(count)s pods had a name that there was already: a number was added"),
    gettext_noop("times are counted from the earliest in it, %(seconds)s s of the epoch"),
    gettext_noop("%(count)s later changes of objects other than nodes and pods are not replayed"),
    gettext_noop("only %(count)s of %(total)s workloads follow a curve; the pods of the others use nothing"),
    gettext_noop("Pod %(pod)s came again, and is taken once"),
    # Why a line is left out.
    gettext_noop("is not JSON: %(problem)s"),
    gettext_noop("is no object with time, event and resource"),
    gettext_noop("resource has no kind, or no name"),
    gettext_noop("has %(count)s cells, the first line %(total)s"),
    gettext_noop("event is %(value)s, not %(names)s"),
    gettext_noop("%(column)s is %(value)s, which is no value of a label"),
    gettext_noop("%(column)s is %(value)s, which is no number"),
    gettext_noop("%(column)s is %(value)s, which is no whole number"),
    gettext_noop("%(column)s is %(value)s, which is no time"),
    gettext_noop("%(column)s is %(value)s, which is not finite, or too large"),
    gettext_noop("%(column)s is %(value)s, which is negative"),
    gettext_noop("%(column)s is before %(other)s"),
    gettext_noop("%(column)s is empty"),
    # Objects of a cluster.
    gettext_noop("%(object)s: is left out: %(problem)s"),
    gettext_noop("%(object)s is left out: %(problem)s"),
    gettext_noop("%(object)s: is taken without what its classes would give it"),
    gettext_noop("%(object)s: is not followed: %(problem)s"),
    gettext_noop("%(object)s: its metric %(metric)s is not measured here, so it is never known"),
    gettext_noop("%(object)s: gets no pods on new nodes: %(problem)s"),
    gettext_noop("%(count)s recorded pods of %(object)s do not come: it was removed before"),
    gettext_noop("%(count)s recorded pods of %(object)s do not come: it was scaled before"),
    gettext_noop("%(count)s nodes have no instance type that is sold: each counts as the smallest that holds it"),
    gettext_noop("%(count)s nodes have no instance type that is sold here."),
    gettext_noop("They count as the smallest that holds them: %(names)s."),
    gettext_noop("The prices of the ready instance types are invented"),
    gettext_noop("Each replica gets volumes of its own (%(names)s); they are left out, and limit nothing here."),
    # Use that was collected.
    gettext_noop("use: the run ends when all is quiet; for the whole history let run.until be %(span)s"),
    gettext_noop("use: beyond %(span)s the run goes through the last %(last)s again"),
    gettext_noop("use: nothing was collected for %(span)s from %(moment)s on; the figures from before are held"),
    gettext_noop("use: the same happened %(count)s further times"),
    gettext_noop("use: figures of %(first)s and %(second)s are missing at times; those from before are held"),
    gettext_noop("use: figures of %(first)s are missing at times; those from before are held"),
    # The end of a run.
    gettext_noop("the run was ended after %(days)s days without settling"),
    gettext_noop("the descheduler stopped %(count)s rounds after the last event: the run has no end of its own"),
    gettext_noop("no pod had to be scheduled, so nothing was tried"),
    gettext_noop("and %(count)s further notes"),
    # Recordings.
    gettext_noop(
        "Nobody watched for %(seconds)s s, %(after)s s after the beginning: pods that came and went meanwhile are "
        "missing."
    ),
    gettext_noop("Ended after %(seconds)s s: %(why)s."),
    gettext_noop("An object of %(count)s characters was left out; a record has at most %(most)s."),
    gettext_noop("An object was left out: %(problem)s"),
    gettext_noop("%(problem)s: they are missing."),
    gettext_noop("a file has at most %(count)s MiB of text (KSCHEDWEB_UPLOAD_LIMIT_MIB)"),
    gettext_noop("a scenario takes at most %(count)s records"),
    gettext_noop("a scenario takes at most %(count)s pods"),
    gettext_noop("a scenario takes at most %(count)s nodes"),
    # Groups of pods.
    gettext_noop("Computed with the %(gates)s on, which the policy leaves off."),
    gettext_noop("feature gates %(names)s"),
    # Revisions that the site saves.
    gettext_noop("Comes with the site"),
    # Pods that admission refuses.
    gettext_noop("%(object)s: %(problem)s; its controller tries again"),
)  # fmt: skip
