"""The part of a KubeSchedulerConfiguration that makes a stock kube-scheduler call a live scheduler."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from django.utils.translation import gettext

from kschedweb.engine.config import EMPTY
from kschedweb.engine.documents.writing import dump_yaml
from kschedweb.engine.json_types import Json
from kschedweb.live.extender.secrets import USER
from kschedweb.live.extender.selectors import configuration_of, endpoint_of, plugins_in_force, weight_in_force

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveScheduler

PREFIX = "/extender/"
# Stands in the place of the secret, which is shown only once.
PLACEHOLDER = "SECRET"
# A setting of the endpoint -> the verb in the configuration and in the address.
VERBS = {"filters": "filter", "prioritizes": "prioritize", "preempts": "preempt", "binds": "bind"}


def extender_configuration(live: LiveScheduler, base_url: str, secret: str = PLACEHOLDER) -> Json:
    """Return a KubeSchedulerConfiguration with the extender only, to be merged into kube-scheduler's own.

    ``base_url`` is the address of this site as kube-scheduler reaches it, ``https://host[:port]``.
    """
    endpoint, configuration = endpoint_of(live), configuration_of(live)
    extender: Json = {"urlPrefix": _extender_url(base_url, live, secret)}
    extender |= {f"{verb}Verb": verb for setting, verb in VERBS.items() if getattr(endpoint, setting)}
    if endpoint.prioritizes:
        extender["weight"] = weight_in_force(endpoint, configuration)
    if endpoint.authority:
        # Only with an authority: without one, kube-scheduler takes enableHTTPS as leave to accept any certificate.
        extender["enableHTTPS"] = True
        extender["tlsConfig"] = {"caData": base64.b64encode(endpoint.authority.encode()).decode()}
    extender["httpTimeout"] = f"{endpoint.timeout}s"
    extender["nodeCacheCapable"] = not endpoint.whole_nodes
    extender["ignorable"] = endpoint.ignorable
    return {**EMPTY, "extenders": [extender]}


def extender_yaml(live: LiveScheduler, base_url: str, secret: str = PLACEHOLDER) -> str:
    """Return the same configuration as YAML to paste."""
    return dump_yaml(extender_configuration(live, base_url, secret))


def list_warnings(live: LiveScheduler, base_url: str) -> list[str]:
    """Return warnings for the person who pastes the configuration."""
    endpoint, configuration = endpoint_of(live), configuration_of(live)
    texts = []
    if not endpoint.digest:
        texts.append(gettext("No secret was made yet: nobody is answered before there is one."))
    if not base_url.startswith("https://"):
        texts.append(
            gettext("The address is not https: the secret and every pod would cross the network in the clear.")
        )
    if not plugins_in_force(endpoint, configuration):
        names = ", ".join(sorted({ref.name for ref in configuration.profiles[0].points.get("score", ())}))
        texts.append(
            gettext(
                "The policy has no filter or score that kube-scheduler lacks, so nothing is decided here. "
                "Choose plugins: it scores with %(plugins)s."
            )
            % {"plugins": names or gettext("none")}
        )
    if endpoint.whole_nodes and endpoint.filters:
        texts.append(
            gettext(
                "With whole nodes, kube-scheduler scores the nodes that an extender's filter returns as if no pod "
                "were on them. Send names, or switch filter off."
            )
        )
    if not endpoint.ignorable:
        texts.append(gettext("Not ignorable: while this site does not answer, kube-scheduler places no pod."))
    return texts


def _extender_url(base_url: str, live: LiveScheduler, secret: str) -> str:
    parts = urlsplit(base_url)
    path = f"{parts.path.rstrip('/')}{PREFIX}{live.pk}"
    return urlunsplit((parts.scheme, f"{USER}:{secret}@{parts.netloc}", path, "", ""))
