"""Warnings of the policy editor, besides what kube-scheduler itself refuses."""

from __future__ import annotations

from django.utils.translation import gettext_noop

WARNINGS = (
    gettext_noop("what it changes when it is %(value)s is outside the simulation: answers are those of %(other)s"),
    gettext_noop("at 100 the search never stops early: every node is looked at for every pod"),
    gettext_noop("at 100 the search never stops early"),
    gettext_noop("has no effect while %(name)s is false"),
    gettext_noop(
        "kube-scheduler takes this and ends at its start: renewDeadline must be greater than "
        "retryPeriod*JitterFactor, which is %(value)s"
    ),
    # Plugins.
    gettext_noop('%(name)s need not be listed: "*" disables all default plugins'),
    gettext_noop("there is no plugin %(name)s, so nothing is disabled"),
    gettext_noop("%(name)s does not run at %(other)s, so nothing is disabled"),
    gettext_noop("a disabled plugin has no weight"),
    gettext_noop("%(name)s is not part of kube-scheduler: it runs here, and in a scheduler that is built with it"),
    gettext_noop("%(name)s does nothing unless the feature gate %(other)s is on"),
    gettext_noop("a weight counts at score and multiPoint only, not at %(other)s"),
    gettext_noop("%(name)s gives no score, so its weight has no effect"),
    gettext_noop("0 counts as 1: disable the plugin to leave its score out"),
    gettext_noop("a negative weight turns the plugin's preference around"),
    gettext_noop("%(name)s scores but is off at preScore, so every pod's scoring fails: disable both"),
    gettext_noop("no plugin scores, so pods go to any node that is feasible"),
    # Arguments of plugins.
    gettext_noop("there is no plugin %(name)s, so these arguments are not used"),
    gettext_noop("%(name)s takes no arguments"),
    gettext_noop("%(name)s is not enabled, so these arguments are not used"),
    gettext_noop("no term says anything, so no node matches and no pod can be scheduled"),
    gettext_noop("a preference of weight 0 is left out"),
    gettext_noop("is not read, since %(name)s is written here too"),
    gettext_noop(
        "%(value)s is not known here, so the default counts: pass the file in, or write what it says as %(name)s"
    ),
    gettext_noop("is never reached, as %(name)s fits every pod"),
    gettext_noop("above 100 scores rise above 100, and pods fail to be scheduled"),
    gettext_noop("is known to kschedweb only: scheduler-plugins refuses a configuration with it"),
    gettext_noop("names no node, so every node gets the same score"),
    gettext_noop("%(name)s has no syncPolicy, so no node is above it"),
    gettext_noop("%(name)s has no syncPolicy, so it scores 0 everywhere"),
    gettext_noop("lists no priority, so every node scores 0: what is written replaces the shipped policy"),
    gettext_noop("the weights sum to 0, so a node scores 0 or, where it is hot, 100"),
    gettext_noop("%(value)s is no percentage, and Koordinator does not say so"),
    gettext_noop("has no effect without %(name)s"),
    gettext_noop("has no effect: cpu and memory count"),
    gettext_noop("%(value)s is out of range, so %(other)s is used, as Volcano does"),
    gettext_noop("counts in Volcano only: here the plugin's weight in the profile does"),
    gettext_noop("with both weights 0 every node scores 0"),
    gettext_noop("is not heeded: kschedweb collects utilisation itself"),
    # Extenders.
    gettext_noop("names no verb, so the extender is never asked"),
    gettext_noop("has no effect without enableHTTPS or an https address"),
    gettext_noop("is read on kube-scheduler's machine and was not checked here"),
    gettext_noop("is replaced by the resources that extenders declare as ignoredByScheduler"),
    # Karpenter.
    gettext_noop(
        "The prices of the ready instance types are invented: give a list of your own for amounts that mean something."
    ),
)
