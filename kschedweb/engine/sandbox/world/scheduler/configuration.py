"""The configuration of a stock scheduler: a ConfigMap in kube-system, which people may change."""

from __future__ import annotations

from kschedweb.engine import releases
from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.sandbox.store import StoreChange
from kschedweb.engine.sandbox.world.resources import CONFIG_MAP
from kschedweb.engine.sandbox.world.scheduler.writes import WARNING, Write, event_request
from kschedweb.engine.values import dataclass

NAMESPACE, KEY = "kube-system", "config.yaml"
_LABELLED = label_selector({"matchLabels": {"component": "kube-scheduler"}})


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """The configuration in a ConfigMap."""

    name: str
    # ``None`` if it cannot be used; ``problem`` says why.
    configuration: Configuration | None
    problem: str = ""


def is_configuration_change(change: StoreChange) -> bool:
    """Return true if ``change`` is about the configuration of a stock scheduler."""
    if change.resource is not CONFIG_MAP or change.key[0] != NAMESPACE:
        return False
    return any(raw is not None and is_configuration(raw) for raw in (change.old, change.new))


def is_configuration(raw: Json) -> bool:
    return _LABELLED.matches(raw["metadata"].get("labels") or {})


def load_configuration(raw: Json, release: Release = releases.CURRENT) -> LoadedConfiguration:
    """Read the ConfigMap ``raw``."""
    name, data = raw["metadata"]["name"], raw.get("data")
    text = data.get(KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        return LoadedConfiguration(name, None, f"data has no key {KEY} with a KubeSchedulerConfiguration")
    loaded = releases.load(text, release)
    return LoadedConfiguration(name, loaded.configuration, "; ".join(loaded.errors))


def rejection_event(raw: Json, problem: str, now: float) -> Write:
    """Return the event that says why a configuration was not taken over."""
    note = f"The configuration was not taken over, the one before stays in force: {problem}"
    metadata = raw["metadata"]
    regarding = {"kind": "ConfigMap", "apiVersion": "v1"}
    regarding |= {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion") if key in metadata}
    return Write(event_request(regarding, WARNING, "InvalidConfiguration", "Loading", note, now, by="kube-scheduler"))
