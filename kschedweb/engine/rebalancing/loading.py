"""Reading a DeschedulerPolicy: decoded, validated and defaulted as the descheduler does, in its words.

One thing is stricter: a document without an apiVersion. The descheduler takes it for its internal version and finds no
profile in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.config.decode import DecodeError, decode
from kschedweb.engine.config.document import RefusedError, object_kind
from kschedweb.engine.config.reading import read
from kschedweb.engine.config.source import UnreadableError
from kschedweb.engine.config.types import encode
from kschedweb.engine.objects.access import Json
from kschedweb.engine.rebalancing.arguments import Args, together
from kschedweb.engine.rebalancing.document import (
    API_VERSION,
    KIND,
    KUBERNETES_METRICS,
    LIMITS,
    POINTS,
    POLICY,
    PROMETHEUS,
)
from kschedweb.engine.rebalancing.evicting import Limits
from kschedweb.engine.rebalancing.handle import BALANCE, DESCHEDULE, FILTER
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass

SCHEME = "pkg/runtime/scheme.go:111"
FAILED = f"failed decoding descheduler's policy config {quote('policy.yaml')}"
PRE_EVICTION = "preevictionfilter"
_CHECKED = ((DESCHEDULE, DESCHEDULE), (BALANCE, BALANCE), (FILTER, FILTER), (PRE_EVICTION, "preEvictionFilter"))


class PolicyRefused(ValueError):
    """The descheduler would not start with the policy; the text is its own.

    ``problems`` are what is wrong one by one, each at the path of its field ("" where none is to blame).
    """

    def __init__(self, said: str, problems: Iterable[Problem] = (), path: str = "") -> None:
        super().__init__(said)
        self.problems = list(problems) or [Problem(path, said)]


@dataclass(frozen=True, slots=True)
class Profile:
    """``points``: the plugins enabled at each extension point; ``args``: each plugin's own, the first where it has
    several.
    """

    name: str
    configs: list[tuple[str, Args]]
    points: dict[str, Json]

    @property
    def args(self) -> dict[str, Args]:
        return dict(reversed(self.configs))

    def enabled(self, point: str) -> list[str]:
        return self.points[point]["enabled"] or []

    def to_dict(self) -> Json:
        configs = [{"Name": name, "Args": encode(PLUGINS[name].args, args)} for name, args in self.configs]
        plugins = {
            said: {"Enabled": self.points[point]["enabled"], "Disabled": self.points[point]["disabled"]}
            for point, said in POINTS.items()
        }
        return {"Name": self.name, "PluginConfigs": configs, "Plugins": plugins}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its defaults; ``fields`` are those of the document beside its profiles."""

    fields: dict[str, Any] = field(repr=False)
    profiles: list[Profile] | None

    @property
    def limits(self) -> Limits:
        node, namespace, total = (self.fields[name] for name in LIMITS)
        return Limits(total, node, namespace)

    @property
    def node_selector(self) -> str:
        return self.fields["nodeSelector"] or ""

    @property
    def collects(self) -> bool:
        """Whether metrics-server is asked."""
        collector = self.fields["metricsCollector"]
        return bool(collector and collector["enabled"]) or any(
            one["source"] == KUBERNETES_METRICS for one in self.fields["metricsProviders"] or ()
        )

    @property
    def queries(self) -> bool:
        """Whether a Prometheus can be asked."""
        providers = self.fields["metricsProviders"] or ()
        return any(one["source"] == PROMETHEUS and one["prometheus"] for one in providers)

    def to_dict(self) -> Json:
        """In the form in which the descheduler keeps it."""
        fields = self.fields
        kept = {name[:1].upper() + name[1:]: fields[name] for name in fields if name not in ("kind", "apiVersion")}
        kept["MetricsCollector"] = fields["metricsCollector"] and {"Enabled": fields["metricsCollector"]["enabled"]}
        kept["MetricsProviders"] = fields["metricsProviders"] and [_provider(one) for one in fields["metricsProviders"]]
        kept["Profiles"] = None if self.profiles is None else [profile.to_dict() for profile in self.profiles]
        return kept


def load_policy(document: str | Mapping[str, Any], classes: Mapping[str, int] | None = None) -> Policy:
    """Read YAML or JSON text, or its values; ``classes`` are the values of the cluster's priority classes.

    Raises PolicyRefused.
    """
    fields = _decoded(document)
    profiles = fields.pop("profiles")
    if profiles is not None:
        profiles = [_profile(raw, f"profiles[{place}]") for place, raw in enumerate(profiles)]
    if found := _faults(profiles or [], fields["metricsProviders"] or [], fields["metricsCollector"]):
        raise PolicyRefused(together([one.text for one in found]), found)
    for place, profile in enumerate(profiles or ()):
        _default(profile, {} if classes is None else classes, f"profiles[{place}]")
    return Policy(fields, profiles)


def check_points(profile: Profile) -> None:
    """Raises PolicyRefused for a plugin at an extension point that it does not have."""
    for point, said in _CHECKED:
        wanted = FILTER if point == PRE_EVICTION else point
        unknown = {name for name in profile.enabled(point) if name not in PLUGINS or PLUGINS[name].point != wanted}
        if unknown:
            names = " ".join(f"{name}:{{}}" for name in sorted(unknown))
            of = f"{said} extension point of non-existing plugins: map[{names}]"
            path = f"plugins.{point}.enabled"
            raise PolicyRefused(f"profile {quote(profile.name)} configures {of}", path=path)


def _decoded(document: str | Mapping[str, Any]) -> dict[str, Any]:
    try:
        source = read(document)
        object_kind(source.value, source.text, {KIND}, SCHEME, default=KIND, version=API_VERSION)
        value: dict[str, Any] = decode(POLICY, source.value).value
    except UnreadableError as error:
        raise PolicyRefused(f"{FAILED}: {error}") from None
    except DecodeError as error:
        raise PolicyRefused(f"{FAILED}: {error}", path=error.problem.path) from None
    except RefusedError as refused:
        raise PolicyRefused(f"{FAILED}: {'; '.join(refused.errors)}", refused.problems) from None
    if not value["apiVersion"]:
        raise PolicyRefused(f"apiVersion: is missing; write {API_VERSION}", path="apiVersion")
    return value


def _profile(raw: dict[str, Any], at: str) -> Profile:
    """A profile with decoded arguments; those of unknown plugins are found later."""
    configs = []
    for place, config in enumerate(raw["pluginConfig"] or ()):
        path = f"{at}.pluginConfig[{place}].args"
        name, args = config["name"], config["args"]
        if name in PLUGINS:
            try:
                decoded = decode(PLUGINS[name].args, {} if args is None else args)
            except DecodeError as error:
                inner = f".{error.problem.path}" if error.problem.path else ""
                raise PolicyRefused(f"{FAILED}: {error}", path=f"{path}{inner}") from None
            if decoded.strict:
                said = ", ".join(problem.text for problem in decoded.strict)
                problems = [Problem(f"{path}.{one.path}", one.text) for one in decoded.strict]
                raise PolicyRefused(f"{FAILED}: strict decoding error: {said}", problems)
            args = decoded.value
        configs.append((name, args))
    return Profile(raw["name"], configs, raw["plugins"])


def _faults(profiles: list[Profile], providers: list[Json], collector: Json | None) -> list[Problem]:
    found = []
    for number, profile in enumerate(profiles):
        for place, (name, args) in enumerate(profile.configs):
            path = f"profiles[{number}].pluginConfig[{place}]"
            if name not in PLUGINS:
                said = f"in profile {profile.name}: plugin {name} in pluginConfig not registered"
                found.append(Problem(f"{path}.name", said))
            elif faults := PLUGINS[name].faults(args):
                found.append(Problem(f"{path}.args", f"in profile {profile.name}: {together(faults)}"))
    known: dict[str, int] = {}
    for place, provider in enumerate(providers):
        source = provider["source"]
        if source in known:
            said = "is already configured, each source can be configured only once"
            found.append(Problem(f"metricsProviders[{place}].source", f"metric provider {quote(source)} {said}"))
        known.setdefault(source, place)
    if KUBERNETES_METRICS in known and collector and collector["enabled"]:
        said = "it is not allowed to combine metrics provider when metrics collector is enabled"
        found.append(Problem("metricsCollector", said))
    if PROMETHEUS not in known:
        return found
    place = known[PROMETHEUS]
    wrong = _prometheus_faults(providers[place]["prometheus"])
    return found + [Problem(f"metricsProviders[{place}]", said) for said in wrong]


def _prometheus_faults(prometheus: Json | None) -> list[str]:
    if prometheus is None:
        return ["prometheus configuration is required when prometheus source is enabled"]
    found = [] if prometheus["url"] else ["prometheus URL is required when prometheus is enabled"]
    token = prometheus["authToken"]
    if token is not None and token["secretReference"] is None:
        found.append("prometheus authToken secret is expected to be set when authToken field is")
    elif token is not None and not (token["secretReference"]["name"] and token["secretReference"]["namespace"]):
        found.append("prometheus authToken secret reference does not set both namespace and name")
    return found


def _default(profile: Profile, classes: Mapping[str, int], at: str) -> None:
    name = defaultevictor.NAME
    for point in (FILTER, PRE_EVICTION):
        if name not in profile.enabled(point):
            profile.points[point]["enabled"] = [name, *profile.enabled(point)]
    if name not in profile.args:
        profile.configs.insert(0, (name, decode(PLUGINS[name].args, {}).value))
    args = profile.args[name]
    try:
        args["priorityThreshold"] = {"value": _threshold(args["priorityThreshold"], classes), "name": ""}
    except PolicyRefused as refused:
        place = [one for one, _ in profile.configs].index(name)
        raise PolicyRefused(str(refused), path=f"{at}.pluginConfig[{place}].args.priorityThreshold") from None
    for plugin, of_plugin in profile.configs:
        PLUGINS[plugin].fill(of_plugin)


def _threshold(raw: Json | None, classes: Mapping[str, int]) -> int:
    value: int | None = None if raw is None else raw["value"]
    if raw is not None and value is None and raw["name"]:
        if raw["name"] not in classes:
            said = f"priorityclasses.scheduling.k8s.io {quote(raw['name'])} not found"
            raise PolicyRefused(f"unable to get priority value from the priority class: {said}")
        value = classes[raw["name"]]
    value = defaultevictor.CRITICAL if value is None else value
    if value > defaultevictor.CRITICAL:
        raise PolicyRefused(f"priority threshold can't be greater than {defaultevictor.CRITICAL}")
    return value


def _provider(raw: Json) -> Json:
    prometheus = raw["prometheus"]
    if prometheus is not None:
        token = prometheus["authToken"]
        secret = token and token["secretReference"]
        secret = secret and {"Namespace": secret["namespace"], "Name": secret["name"]}
        prometheus = {"URL": prometheus["url"], "AuthToken": token and {"SecretReference": secret}}
    return {"Source": raw["source"], "Prometheus": prometheus}
