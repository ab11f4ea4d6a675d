"""Loading of a DeschedulerPolicy: decoded, validated and defaulted as the descheduler does, with its errors.

One check is stricter: a document needs an apiVersion. Without one the descheduler takes it for its internal version and
finds no profile in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.config.decode import DecodeError, decode
from kschedweb.engine.config.document import RefusedError, object_kind
from kschedweb.engine.config.reading import read_document
from kschedweb.engine.config.source import UnreadableError
from kschedweb.engine.config.types import encode
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.arguments import Args, aggregate_errors
from kschedweb.engine.rebalancing.document import (
    API_VERSION,
    KIND,
    KUBERNETES_METRICS,
    LIMITS,
    POINTS,
    POLICY,
    PROMETHEUS,
)
from kschedweb.engine.rebalancing.evictions import EvictionLimits
from kschedweb.engine.rebalancing.handle import BALANCE, DESCHEDULE, FILTER
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass

# The place in the source that the scheme's errors name.
SCHEME = "pkg/runtime/scheme.go:111"
FAILED = f"failed decoding descheduler's policy config {quote('policy.yaml')}"
PRE_EVICTION = "preevictionfilter"
# Extension points in the order in which they are checked, and their names in errors.
_CHECKED = ((DESCHEDULE, DESCHEDULE), (BALANCE, BALANCE), (FILTER, FILTER), (PRE_EVICTION, "preEvictionFilter"))


class PolicyRefused(ValueError):
    """The descheduler would not start with the policy; the text is its own."""

    def __init__(self, message: str, problems: Iterable[Problem] = (), path: str = "") -> None:
        super().__init__(message)
        # The problems one by one, each at the path of its field ("" if it belongs to none).
        self.problems = list(problems) or [Problem(path, message)]


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of a policy."""

    name: str
    # (plugin, arguments), as they are written.
    configs: list[tuple[str, Args]]
    # The plugins of each extension point.
    points: dict[str, Json]

    @property
    def args(self) -> dict[str, Args]:
        # Reversed, so that the first entry of a plugin overwrites the others.
        """The arguments of each plugin, the first ones if it has several."""
        return dict(reversed(self.configs))

    def enabled_plugins(self, point: str) -> list[str]:
        return self.points[point]["enabled"] or []

    def to_dict(self) -> Json:
        configs = [{"Name": name, "Args": encode(PLUGINS[name].args, args)} for name, args in self.configs]
        plugins = {
            go_name: {"Enabled": self.points[point]["enabled"], "Disabled": self.points[point]["disabled"]}
            for point, go_name in POINTS.items()
        }
        return {"Name": self.name, "PluginConfigs": configs, "Plugins": plugins}


@dataclass(frozen=True, slots=True)
class DeschedulerPolicy:
    """A policy with its defaults."""

    # All fields of the document but its profiles.
    fields: Json = field(repr=False)
    profiles: list[Profile] | None

    @property
    def limits(self) -> EvictionLimits:
        node, namespace, total = (self.fields[name] for name in LIMITS)
        return EvictionLimits(total, node, namespace)

    @property
    def node_selector(self) -> str:
        return self.fields["nodeSelector"] or ""

    @property
    def collects_metrics(self) -> bool:
        """True if it uses metrics-server."""
        collector = self.fields["metricsCollector"]
        return bool(collector and collector["enabled"]) or any(
            provider["source"] == KUBERNETES_METRICS for provider in self.fields["metricsProviders"] or ()
        )

    @property
    def queries_prometheus(self) -> bool:
        """True if it configures a Prometheus."""
        providers = self.fields["metricsProviders"] or ()
        return any(provider["source"] == PROMETHEUS and provider["prometheus"] for provider in providers)

    def to_dict(self) -> Json:
        """Return it in the descheduler's internal form."""
        fields = self.fields
        plain = {name[:1].upper() + name[1:]: fields[name] for name in fields if name not in ("kind", "apiVersion")}
        plain["MetricsCollector"] = fields["metricsCollector"] and {"Enabled": fields["metricsCollector"]["enabled"]}
        plain["MetricsProviders"] = fields["metricsProviders"] and [
            _plain_provider(provider) for provider in fields["metricsProviders"]
        ]
        plain["Profiles"] = None if self.profiles is None else [profile.to_dict() for profile in self.profiles]
        return plain


def load_policy(document: str | Mapping[str, Any], classes: Mapping[str, int] | None = None) -> DeschedulerPolicy:
    """Load YAML or JSON text, or its values; ``classes`` are the cluster's priority classes with their values.

    Raise PolicyRefused.
    """
    fields = _decode_document(document)
    profiles = fields.pop("profiles")
    if profiles is not None:
        profiles = [_read_profile(raw, f"profiles[{place}]") for place, raw in enumerate(profiles)]
    if problems := _find_faults(profiles or [], fields["metricsProviders"] or [], fields["metricsCollector"]):
        raise PolicyRefused(aggregate_errors([problem.text for problem in problems]), problems)
    for place, profile in enumerate(profiles or ()):
        _apply_defaults(profile, {} if classes is None else classes, f"profiles[{place}]")
    return DeschedulerPolicy(fields, profiles)


def check_points(profile: Profile) -> None:
    """Raise PolicyRefused for a plugin at an extension point that it does not have."""
    for point, point_name in _CHECKED:
        required_point = FILTER if point == PRE_EVICTION else point
        unknown = {
            name
            for name in profile.enabled_plugins(point)
            if name not in PLUGINS or PLUGINS[name].point != required_point
        }
        if unknown:
            names = " ".join(f"{name}:{{}}" for name in sorted(unknown))
            reason = f"{point_name} extension point of non-existing plugins: map[{names}]"
            path = f"plugins.{point}.enabled"
            raise PolicyRefused(f"profile {quote(profile.name)} configures {reason}", path=path)


def _decode_document(document: str | Mapping[str, Any]) -> Json:
    try:
        source = read_document(document)
        object_kind(source.value, source.text, {KIND}, SCHEME, default=KIND, version=API_VERSION)
        value: Json = decode(POLICY, source.value).value
    except UnreadableError as error:
        raise PolicyRefused(f"{FAILED}: {error}") from None
    except DecodeError as error:
        raise PolicyRefused(f"{FAILED}: {error}", path=error.problem.path) from None
    except RefusedError as refused:
        raise PolicyRefused(f"{FAILED}: {'; '.join(refused.errors)}", refused.problems) from None
    if not value["apiVersion"]:
        raise PolicyRefused(f"apiVersion: is missing; write {API_VERSION}", path="apiVersion")
    return value


def _read_profile(raw: Json, at: str) -> Profile:
    """Read a profile and decode its arguments; plugins that do not exist are found later."""
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
                message = ", ".join(problem.text for problem in decoded.strict)
                problems = [Problem(f"{path}.{problem.path}", problem.text) for problem in decoded.strict]
                raise PolicyRefused(f"{FAILED}: strict decoding error: {message}", problems)
            args = decoded.value
        configs.append((name, args))
    return Profile(raw["name"], configs, raw["plugins"])


def _find_faults(profiles: list[Profile], providers: list[Json], collector: Json | None) -> list[Problem]:
    """Return the problems of plugins' arguments and of metrics providers, in the descheduler's order."""
    problems = []
    for number, profile in enumerate(profiles):
        for place, (name, args) in enumerate(profile.configs):
            path = f"profiles[{number}].pluginConfig[{place}]"
            if name not in PLUGINS:
                message = f"in profile {profile.name}: plugin {name} in pluginConfig not registered"
                problems.append(Problem(f"{path}.name", message))
            elif faults := PLUGINS[name].faults(args):
                problems.append(Problem(f"{path}.args", f"in profile {profile.name}: {aggregate_errors(faults)}"))
    place_by_source: dict[str, int] = {}
    for place, provider in enumerate(providers):
        source = provider["source"]
        if source in place_by_source:
            message = "is already configured, each source can be configured only once"
            problems.append(Problem(f"metricsProviders[{place}].source", f"metric provider {quote(source)} {message}"))
        place_by_source.setdefault(source, place)
    if KUBERNETES_METRICS in place_by_source and collector and collector["enabled"]:
        message = "it is not allowed to combine metrics provider when metrics collector is enabled"
        problems.append(Problem("metricsCollector", message))
    if PROMETHEUS not in place_by_source:
        return problems
    place = place_by_source[PROMETHEUS]
    wrong = _prometheus_faults(providers[place]["prometheus"])
    return problems + [Problem(f"metricsProviders[{place}]", message) for message in wrong]


def _prometheus_faults(prometheus: Json | None) -> list[str]:
    if prometheus is None:
        return ["prometheus configuration is required when prometheus source is enabled"]
    faults = [] if prometheus["url"] else ["prometheus URL is required when prometheus is enabled"]
    token = prometheus["authToken"]
    if token is not None and token["secretReference"] is None:
        faults.append("prometheus authToken secret is expected to be set when authToken field is")
    elif token is not None and not (token["secretReference"]["name"] and token["secretReference"]["namespace"]):
        faults.append("prometheus authToken secret reference does not set both namespace and name")
    return faults


def _apply_defaults(profile: Profile, classes: Mapping[str, int], at: str) -> None:
    """Add the DefaultEvictor where it is missing, and fill in the defaults of all plugins."""
    name = defaultevictor.NAME
    for point in (FILTER, PRE_EVICTION):
        if name not in profile.enabled_plugins(point):
            profile.points[point]["enabled"] = [name, *profile.enabled_plugins(point)]
    if name not in profile.args:
        profile.configs.insert(0, (name, decode(PLUGINS[name].args, {}).value))
    args = profile.args[name]
    try:
        args["priorityThreshold"] = {"value": _priority_threshold(args["priorityThreshold"], classes), "name": ""}
    except PolicyRefused as refused:
        place = [config_name for config_name, _ in profile.configs].index(name)
        raise PolicyRefused(str(refused), path=f"{at}.pluginConfig[{place}].args.priorityThreshold") from None
    for plugin, of_plugin in profile.configs:
        PLUGINS[plugin].fill(of_plugin)


def _priority_threshold(raw: Json | None, classes: Mapping[str, int]) -> int:
    value: int | None = None if raw is None else raw["value"]
    if raw is not None and value is None and raw["name"]:
        if raw["name"] not in classes:
            message = f"priorityclasses.scheduling.k8s.io {quote(raw['name'])} not found"
            raise PolicyRefused(f"unable to get priority value from the priority class: {message}")
        value = classes[raw["name"]]
    value = defaultevictor.CRITICAL if value is None else value
    if value > defaultevictor.CRITICAL:
        raise PolicyRefused(f"priority threshold can't be greater than {defaultevictor.CRITICAL}")
    return value


def _plain_provider(raw: Json) -> Json:
    prometheus = raw["prometheus"]
    if prometheus is not None:
        token = prometheus["authToken"]
        secret = token and token["secretReference"]
        secret = secret and {"Namespace": secret["namespace"], "Name": secret["name"]}
        prometheus = {"URL": prometheus["url"], "AuthToken": token and {"SecretReference": secret}}
    return {"Source": raw["source"], "Prometheus": prometheus}
