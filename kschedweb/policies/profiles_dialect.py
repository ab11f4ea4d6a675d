"""The dialect of profiles: a KubeSchedulerConfiguration for one of the known releases of kube-scheduler.

``process`` names the release that the policy is written for ("release", as "1.36"), and the feature gates that are
switched there ("featureGates"). If it is empty, the default release and its own gates count. "files" has the texts of
files that arguments point at, by path, as they were when the revision was saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine import config
from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import json_schema, load, parse_minor
from kschedweb.policies import diff
from kschedweb.policies.dialect import NO_QUERY, Dialect, PolicyKind
from kschedweb.policies.diff import PolicyChange
from kschedweb.policies.editing import editor
from kschedweb.policies.editing.editor import ProfileEditor
from kschedweb.policies.editing.sections import FormFilter
from kschedweb.policies.validation import PROCESS, CheckedProfiles, check_profiles, release_of, settle_release


class ProfilesDialect(Dialect[CheckedProfiles, Configuration]):
    kind = PolicyKind.PROFILES
    templates = "policies"
    file_word = "YAML"
    document_word = "a KubeSchedulerConfiguration"
    has_profiles = True
    is_convertible = False
    defaults = config.default_document()

    def check(self, text: str, process: Mapping[str, Any]) -> CheckedProfiles:
        return check_profiles(text, process)

    def load(self, text: str, process: Mapping[str, Any]) -> Configuration:
        loaded = load(text, release_of(process))
        if loaded.configuration is None:
            raise ValueError("; ".join(loaded.errors))
        return loaded.configuration

    def changes(self, old: CheckedProfiles, new: CheckedProfiles) -> list[PolicyChange]:
        return diff.list_changes(old.loaded, new.loaded)

    def render_effective(self, checked: CheckedProfiles) -> Json:
        loaded = checked.loaded
        configuration = loaded.configuration if loaded else None
        return {
            "classic": None,
            "release": configuration.release.name if configuration else None,
            "notes": checked.notes,
            "defaulted": loaded.defaulted if loaded else None,
            "effective": configuration
            and [
                {
                    "scheduler_name": profile.scheduler_name,
                    "percentage_of_nodes_to_score": profile.percentage_of_nodes_to_score,
                    "points": {
                        point: [{"name": plugin.name, "weight": plugin.weight} for plugin in plugins]
                        for point, plugins in profile.points.items()
                    },
                    "args": profile.args,
                }
                for profile in configuration.profiles
            ],
        }

    def process_to_store(self, process: Mapping[str, Any]) -> Json:
        return {name: process[name] for name in PROCESS if process.get(name)}

    def process_on_version(self, process: Mapping[str, Any], version: str) -> Json:
        release = process.get("release") or parse_minor(version)
        return {**process, "release": release} if release else dict(process)

    def settle_release(self, process: Mapping[str, Any]) -> Json:
        return settle_release(process)

    def schema(self, process: Mapping[str, Any]) -> Json:
        return json_schema(release_of(process))

    def open_editor(self, text: str, process: Mapping[str, Any], query: Mapping[str, str] = NO_QUERY) -> ProfileEditor:
        return editor.open_editor(text, editor.profile_of(query), process, FormFilter.from_query(query))

    def read_posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> ProfileEditor:
        return editor.read_posted(fields, process)
