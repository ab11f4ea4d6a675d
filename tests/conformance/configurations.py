"""Random configurations, good and bad, as text: what the differential test puts to both schedulers."""

from __future__ import annotations

import json
import random
from typing import Any

import yaml

from kschedweb.engine.config.schema import (
    API_VERSION,
    EXTENDER,
    EXTENSION_POINTS,
    KIND,
)
from kschedweb.engine.config.types import GoDuration, ListType, MapType, Struct, StructField, Type
from kschedweb.engine.documents.leaves import Flag, Number
from kschedweb.engine.releases import CURRENT

PLUGINS = tuple(CURRENT.in_tree_plugins.specs)
CONFIGURATION = CURRENT.schema.configuration
POINTS = (*EXTENSION_POINTS, *CURRENT.schema.group_points)
SCORERS = tuple(name for name, spec in CURRENT.in_tree_plugins.specs.items() if "score" in spec.points)
OTHER_PLUGINS = ("Nope", "EBSLimits", "GCEPDLimits", "", "*", "nodeName")
NAMES: tuple[str, ...] = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "example.com/a",
    "example.com/b",
    "pods",
    "x/y/z",
    "UPPER.com/a",
    "/a",
    "",
)
NAMES += (
    "kubernetes.io/a",
    "requests.example.com/a",
    "a" * 64,
    "-a",
    "example.com/" + "b" * 63,
    "é",
    'q"\\',
    "a b",
    "<&>",
)
DURATIONS: tuple[str, ...] = (
    "15s",
    "10s",
    "2s",
    "0s",
    "-1s",
    "1m30s",
    "1.5h",
    "250ms",
    "3us",
    "1µs",
    "7ns",
    "0",
    "+5s",
    "1h0m0.5s",
    ".5s",
)
DURATIONS += (
    "5",
    "x",
    "3x",
    "",
    "1s ",
    "9999999h",
    "-",
    "1.s",
    "0.000000001s",
    "100000000h",
    '"',
    "1.0000000001s",
    "é",
)
INTEGERS = (0, 0, 1, 1, 2, 3, 5, 10, 16, 50, 99, 100, 101, -1, -3, 1000, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63)
STRINGS = (
    "",
    "a",
    "b",
    "default-scheduler",
    "leases",
    "configmaps",
    "http://127.0.0.1:1/x",
    "é\u2028",
    'quo"te\n',
    "<x>",
)
LABEL_VALUES = ("", "a", "1", "-1", "+5", "007", "99999999999999999999", "a b", "x" * 64, "A.b_c-d", "é")
ODD: tuple[Any, ...] = (None, True, 5, 1.5, 1e21, "x", [], {}, [1], {"a": 1}, [None], 1e-7)
BASE64 = (
    "aGk=",
    "!!",
    "aGk",
    "",
    "aG=k",
    "a===",
    "aGk=x",
    "aGk=\n",
    "aG\nk=",
    "YQ==",
    "YQ=",
    "YQ=x",
    "aGkx=",
    "é",
    "aGkhaGk",
)
KINDS = ("NodeAffinityArgs", KIND, "Foo", "")
VERSIONS = (
    API_VERSION,
    "kubescheduler.config.k8s.io/v1beta3",
    "v1",
    "foo/v1",
    "a/b/c",
    "",
    "/",
    "kubescheduler.config.k8s.io/",
)


class Configurations:
    """An endless source of documents from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # Within a document corruption is either absent or rare, so that the later stages are reached as well.
        self.corruption = 0.0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def text(self) -> str:
        """Return one document as JSON or YAML text, now and then damaged."""
        self.corruption = self.random.choice((0.0, 0.0, 0.0, 0.01, 0.05))
        document = self.document()
        if self.chance(0.5):
            text = json.dumps(document, indent=self.random.choice((None, 1)), ensure_ascii=self.chance(0.5))
        else:
            flow = self.random.choice((None, False))
            text = yaml.safe_dump(document, allow_unicode=True, default_flow_style=flow, sort_keys=self.chance(0.5))
        return self.damaged(text) if self.chance(0.06) else text

    def damaged(self, text: str) -> str:
        at = self.random.randrange(len(text) or 1)
        match self.random.randrange(4):
            case 0:
                return text[:at]
            case 1:
                return text[:at] + text[at + 1 :]
            case 2:
                return text[:at] + self.random.choice('{}[]:,"-\n 1tx#&*') + text[at:]
            case _:
                lines = text.splitlines(keepends=True)
                line = self.random.randrange(len(lines) or 1)
                return "".join(lines[: line + 1] + lines[line:])

    def document(self) -> Any:
        document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
        if self.chance(self.corruption):
            document["apiVersion"] = self.random.choice(VERSIONS)
        if self.chance(self.corruption):
            document["kind"] = self.random.choice(KINDS)
        for field in CONFIGURATION.fields:
            if field.name == "profiles":
                if self.chance(0.9):
                    document["profiles"] = self.profiles()
            elif field.name == "extenders":
                if self.chance(0.2):
                    document["extenders"] = [self.extender() for _ in range(self.random.randrange(1, 3))]
            elif field.name not in ("kind", "apiVersion") and self.chance(0.1):
                document[field.name] = self.value(field.type, field)
        return self.corrupted(document)

    def profiles(self) -> Any:
        count = self.random.choice((0, 1, 1, 1, 1, 2, 3))
        profiles = [self.profile(index) for index in range(count)]
        if count > 1 and self.chance(0.2) and isinstance(profiles[-1], dict) and isinstance(profiles[0], dict):
            profiles[-1]["schedulerName"] = profiles[0].get("schedulerName", "a")
        return self.corrupted(profiles)

    def profile(self, index: int) -> Any:
        profile: dict[str, Any] = {}
        if self.chance(0.9):
            profile["schedulerName"] = self.random.choice(("a", "b", "c", "default-scheduler", ""))
            if self.chance(0.8):
                profile["schedulerName"] = f"scheduler-{index}"
        if self.chance(0.2):
            profile["percentageOfNodesToScore"] = self.integer(None)
        if self.chance(0.6):
            profile["plugins"] = self.plugins()
        if self.chance(0.6):
            profile["pluginConfig"] = [self.plugin_config() for _ in range(self.random.randrange(1, 4))]
        return self.corrupted(profile)

    def plugins(self) -> Any:
        chosen = self.random.sample(
            (*POINTS, "multiPoint", "multiPoint", "score", "filter"), self.random.randrange(1, 4)
        )
        return self.corrupted({point: self.plugin_set(point) for point in chosen})

    def plugin_set(self, point: str) -> Any:
        sets: dict[str, Any] = {}
        fitting = [
            name
            for name, spec in CURRENT.in_tree_plugins.specs.items()
            if point == "multiPoint" or point in spec.points
        ]
        if self.chance(0.8):
            count = self.random.randrange(0, 4)
            sets["enabled"] = [self.plugin(fitting) for _ in range(count)]
            if self.chance(0.7):
                sets["enabled"] = list({plugin["name"]: plugin for plugin in sets["enabled"]}.values())
        if self.chance(0.5):
            sets["disabled"] = [
                {"name": self.random.choice((*fitting, "*"))} for _ in range(self.random.randrange(1, 3))
            ]
        return self.corrupted(sets)

    def plugin(self, fitting: list[str]) -> dict[str, Any]:
        plugin: dict[str, Any] = {"name": self.random.choice(fitting or list(PLUGINS))}
        if self.chance(0.08):
            plugin["name"] = self.random.choice((*PLUGINS, *OTHER_PLUGINS))
        if self.chance(0.4):
            plugin["weight"] = self.integer(None)
        return plugin

    def plugin_config(self) -> Any:
        with_args = [name for name in PLUGINS if CURRENT.in_tree_plugins.find_args(name)]
        config: dict[str, Any] = {"name": self.random.choice(with_args)}
        if self.chance(0.1):
            config["name"] = self.random.choice((*PLUGINS, *OTHER_PLUGINS))
        spec = CURRENT.in_tree_plugins.find_args(config["name"])
        if spec is None:
            config["args"] = self.random.choice(({"b": 1, "a": [None, 2.5]}, *ODD))
        elif self.chance(0.95):
            config["args"] = self.struct(spec.struct)
        return self.corrupted(config)

    def extender(self) -> Any:
        extender = self.struct(EXTENDER)
        if isinstance(extender, dict):
            extender.pop("tlsConfig", None)
            if self.chance(0.2):
                extender["tlsConfig"] = {"insecure": self.chance(0.5), "serverName": "x"}
                if self.chance(0.5):
                    extender["tlsConfig"]["caData"] = self.random.choice(BASE64)
        return extender

    def struct(self, struct_type: Struct) -> Any:
        value = {}
        for field in struct_type.fields:
            if field.name in ("kind", "apiVersion"):
                if self.chance(self.corruption):
                    value[field.name] = self.random.choice(KINDS if field.name == "kind" else VERSIONS)
            elif self.chance(0.85 if field.name in struct_type.required else 0.45):
                value[field.name] = self.value(field.type, field)
        return self.corrupted(value)

    def value(self, value_type: Type, field: StructField) -> Any:
        if isinstance(value_type, Struct):
            return self.struct(value_type)
        if isinstance(value_type, ListType):
            return self.corrupted([self.value(value_type.item, field) for _ in range(self.random.randrange(0, 3))])
        if isinstance(value_type, MapType):
            return {
                self.random.choice(NAMES): self.value(value_type.item, field)
                for _ in range(self.random.randrange(0, 3))
            }
        return self.corrupted(self.single(value_type, field))

    def single(self, value_type: Type, field: StructField) -> Any:
        if field.enum:
            return self.random.choice(field.enum) if self.chance(0.9) else self.random.choice(STRINGS)
        match value_type:
            case Flag():
                return self.chance(0.5)
            case Number(whole=True):
                return self.integer(field)
            case Number():
                return self.random.choice((0, 0.1, 5, 20.5, 1e30, 1e40, -3, 16777217, 1e-50))
            case GoDuration():
                return self.random.choice(DURATIONS[:15] if self.chance(0.8) else DURATIONS)
        return self.string(field)

    def string(self, field: StructField) -> str:
        if field.name in ("name", "key", "topologyKey", "ignoredResources", "ignoredResourceGroups"):
            return self.random.choice(NAMES[:5] if self.chance(0.8) else NAMES)
        if field.name == "values":
            return self.random.choice(LABEL_VALUES[:4] if self.chance(0.7) else LABEL_VALUES)
        return self.random.choice(STRINGS)

    def integer(self, field: StructField | None) -> int:
        if field is not None and field.minimum is not None and self.chance(0.8):
            return self.random.randint(field.minimum, field.maximum or 200)
        return self.random.choice(INTEGERS[:10] if self.chance(0.8) else INTEGERS)

    def corrupted(self, value: Any) -> Any:
        """Return ``value``, rarely something of another type in its place or an unknown field in it."""
        if not self.chance(self.corruption):
            return value
        if isinstance(value, dict) and self.chance(0.6):
            return {**value, self.random.choice(("nope", "Name", "weigth", "a.b", 'q"', "é")): self.random.choice(ODD)}
        return self.random.choice(ODD)
