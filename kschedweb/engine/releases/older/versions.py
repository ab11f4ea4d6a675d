"""The versions of KubeSchedulerConfiguration before v1: their fields, extension points and default scores.

Source: the published Go types, and the defaults of the last kube-scheduler that read each version.
"""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.config.schema import API_VERSION, GROUP
from kschedweb.engine.values import dataclass

COMPONENT = "componentconfig"

# Fields of the document, grouped by the versions that share them.
_EVER = frozenset(
    ("apiVersion", "kind", "leaderElection", "clientConnection", "enableProfiling", "enableContentionProfiling")
)
_ADDRESSES = frozenset({"healthzBindAddress", "metricsBindAddress"})
_SEARCH = frozenset({"percentageOfNodesToScore", "podInitialBackoffSeconds", "podMaxBackoffSeconds"})
_SINGLE = frozenset({"schedulerName", "algorithmSource", "hardPodAffinitySymmetricWeight", "failureDomains"})
_BINDING = frozenset({"disablePreemption", "bindTimeoutSeconds"})
_PROFILES = frozenset({"profiles", "extenders"})

# Extension points that plugins may be set for.
_CYCLE = ("queueSort", "preFilter", "filter", "preScore", "score", "reserve", "permit", "preBind", "bind", "postBind")
_FIRST = tuple(point for point in _CYCLE if point != "preScore")

# Default weights at score, by the release that had them.
_IN_1_22 = {
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "InterPodAffinity": 1,
    "NodeResourcesLeastAllocated": 1,
    "NodeAffinity": 1,
    "NodePreferAvoidPods": 10000,
    "PodTopologySpread": 2,
    "TaintToleration": 1,
}
_IN_1_18 = {**_IN_1_22, "PodTopologySpread": 1, "DefaultPodTopologySpread": 1}
_IN_1_27 = {name: weight for name, weight in _IN_1_22.items() if name != "NodePreferAvoidPods"}
_IN_1_27["NodeResourcesFit"] = _IN_1_27.pop("NodeResourcesLeastAllocated")
_IN_1_28 = _IN_1_27 | {"InterPodAffinity": 2, "NodeAffinity": 2, "TaintToleration": 3}


@dataclass(frozen=True, slots=True)
class Version:
    """A version before v1."""

    api_version: str
    # The last kube-scheduler that read it.
    last: str
    # Fields of the document.
    fields: frozenset[str]
    # Extension points that a profile's plugins may name.
    points: tuple[str, ...]
    # Weights of the plugins that score by default.
    scores: Mapping[str, int]
    # Unknown fields were refused; otherwise they did nothing.
    is_strict: bool = True
    # Enabling a default plugin replaced its weight; otherwise it was an error.
    replaces: bool = True
    # The default plugins are named once, at multiPoint, as in v1.
    is_multipoint: bool = False

    @property
    def has_profiles(self) -> bool:
        return "profiles" in self.fields


VERSIONS = {
    version.api_version: version
    for version in (
        Version(
            f"{COMPONENT}/v1alpha1",
            "1.11",
            _EVER | _ADDRESSES | _SINGLE | {"disablePreemption"},
            (),
            _IN_1_18,
            is_strict=False,
            replaces=False,
        ),
        Version(
            f"{GROUP}/v1alpha1",
            "1.18",
            _EVER | _ADDRESSES | _SEARCH | _SINGLE | _BINDING | {"plugins", "pluginConfig"},
            (*_FIRST, "postFilter", "unreserve"),
            _IN_1_18,
            is_strict=False,
            replaces=False,
        ),
        Version(
            f"{GROUP}/v1alpha2",
            "1.18",
            _EVER | _ADDRESSES | _SEARCH | _BINDING | _PROFILES,
            (*_CYCLE, "unreserve"),
            _IN_1_18,
            replaces=False,
        ),
        Version(
            f"{GROUP}/v1beta1",
            "1.22",
            _EVER | _ADDRESSES | _SEARCH | _PROFILES | {"parallelism"},
            (*_CYCLE, "postFilter"),
            _IN_1_22,
            replaces=False,
        ),
        Version(
            f"{GROUP}/v1beta2",
            "1.27",
            _EVER | _ADDRESSES | _SEARCH | _PROFILES | {"parallelism"},
            (*_CYCLE, "postFilter", "multiPoint"),
            _IN_1_27,
        ),
        Version(
            f"{GROUP}/v1beta3",
            "1.28",
            _EVER | _SEARCH | _PROFILES | {"parallelism"},
            (*_CYCLE, "postFilter", "preEnqueue", "multiPoint"),
            _IN_1_28,
            is_multipoint=True,
        ),
    )
}
# The versions that are read, the newest first.
READ = (API_VERSION, *reversed(VERSIONS))
