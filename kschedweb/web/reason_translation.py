"""Translates kube-scheduler's reasons. Its own words stay beside the translation.

In English there is nothing to add, because the words are English.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext, gettext_noop

from kschedweb.web.translating import in_english

# A reason's beginning, and its meaning. Of two with the same beginning the longer one comes first; "rest" is what
# follows.
READINGS = (
    ("Insufficient ", gettext_noop("not enough %(rest)s free")),
    ("Too many pods", gettext_noop("no room for another pod")),
    ("node(s) were unschedulable", gettext_noop("cordoned")),
    ("node(s) had untolerated taint", gettext_noop("a taint that the pod does not tolerate")),
    ("node(s) didn't match Pod's node affinity", gettext_noop("not what the pod's node affinity or selector asks for")),
    ("node(s) didn't match scheduler-enforced node affinity", gettext_noop("not what the profile's affinity asks for")),
    ("node(s) didn't match the requested node name", gettext_noop("not the node that the pod names")),
    ("node(s) didn't match pod affinity rules", gettext_noop("no pod there that this one must be near")),
    ("node(s) didn't match pod anti-affinity rules", gettext_noop("a pod there that this one must not be near")),
    ("node(s) didn't satisfy existing pods anti-affinity rules", gettext_noop("a pod there that refuses this one")),
    (
        "node(s) didn't match pod topology spread constraints (missing",
        gettext_noop("no label by which the pod is to be spread"),
    ),
    ("node(s) didn't match pod topology spread constraints", gettext_noop("pods would be spread too unevenly")),
    ("node(s) didn't have free ports", gettext_noop("a host port of the pod is taken")),
    ("node(s) exceed max volume count", gettext_noop("too many volumes")),
    ("node(s) had no available disk", gettext_noop("a disk of the pod is in use")),
    ("node(s) had no available volume zone", gettext_noop("a volume of the pod is in another zone")),
    ("node(s) didn't match PersistentVolume's node affinity", gettext_noop("a volume of the pod is not reachable")),
    ("node(s) didn't find available persistent volumes", gettext_noop("no volume for a claim of the pod")),
    ("node(s) did not have enough free storage", gettext_noop("not enough free storage")),
    ("Preemption is not helpful", gettext_noop("evicting pods would not help")),
    ("No preemption victims found", gettext_noop("no pods whose eviction would make room")),
    ("fits now", gettext_noop("fits now")),
    ("waits for approval", gettext_noop("waits for approval")),
    ("handled by ", gettext_noop("handled by %(rest)s")),
)
# The numbers in a message, which its meaning does not need.
_COUNTED = re.compile(r"\d+ (?=node\(s\)|[A-Z])")


def translate_reason(words: str) -> str:
    """Return the meaning of a reason in the reader's language; "" in English, and for unknown words."""
    if in_english():
        return ""
    bare = _COUNTED.sub("", words, count=1)
    for begins, meaning in READINGS:
        if bare.startswith(begins):
            return gettext(meaning) % {"rest": bare.removeprefix(begins).rstrip(".")}
    return ""
