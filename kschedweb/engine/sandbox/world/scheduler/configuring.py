"""The configuration of a stock scheduler: a ConfigMap in kube-system, which a person may change."""

from __future__ import annotations

from kschedweb.engine import releases
from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.sandbox.store import Change
from kschedweb.engine.sandbox.world.resources import CONFIG_MAP
from kschedweb.engine.sandbox.world.scheduler.writes import WARNING, Write, event
from kschedweb.engine.values import dataclass

NAMESPACE, KEY = "kube-system", "config.yaml"
_LABELLED = label_selector({"matchLabels": {"component": "kube-scheduler"}})


@dataclass(frozen=True, slots=True)
class Configured:
    """What a ConfigMap says: ``configuration``, or ``None`` and why not (``problem``)."""

    name: str
    configuration: Configuration | None
    problem: str = ""


def configures(change: Change) -> bool:
    """Whether ``change`` is about the configuration of a stock scheduler, or was."""
    if change.resource is not CONFIG_MAP or change.key[0] != NAMESPACE:
        return False
    return any(raw is not None and is_configuration(raw) for raw in (change.old, change.new))


def is_configuration(raw: Json) -> bool:
    return _LABELLED.matches(raw["metadata"].get("labels") or {})


def configured(raw: Json, release: Release = releases.CURRENT) -> Configured:
    """Read the ConfigMap ``raw``."""
    name, data = raw["metadata"]["name"], raw.get("data")
    text = data.get(KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        return Configured(name, None, f"data has no key {KEY} with a KubeSchedulerConfiguration")
    loaded = releases.load(text, release)
    return Configured(name, loaded.configuration, "; ".join(loaded.errors))


def refused(raw: Json, problem: str, now: float) -> Write:
    """The event that says why a configuration was not taken over."""
    note = f"The configuration was not taken over, the one before stays in force: {problem}"
    metadata = raw["metadata"]
    about = {"kind": "ConfigMap", "apiVersion": "v1"}
    about |= {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion") if key in metadata}
    return Write(event(about, WARNING, "InvalidConfiguration", "Loading", note, now, by="kube-scheduler"))
