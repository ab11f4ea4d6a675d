"""Files that arguments of plugins point at. Their texts are passed in by path in ``Release.files``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedweb.engine.config.document import RefusedError
from kschedweb.engine.config.release import Release
from kschedweb.engine.config.specs import PointedFile
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import quote


def take_files(configuration: Json, release: Release) -> None:
    """Put the contents of the files into a decoded configuration. Raises RefusedError for an unreadable file."""
    for i, profile in enumerate(configuration["profiles"] or ()):
        for j, config in enumerate(profile["pluginConfig"] or ()):
            spec = release.registry.find_args(config["name"])
            file = spec.file if spec else None
            if file and config["args"][file.into] is None and config["args"][file.path] in release.files:
                try:
                    config["args"][file.into] = file.read(release.files[config["args"][file.path]])
                except RefusedError as refused:
                    name = profile["schedulerName"] or "default-scheduler"
                    head = f"initializing profiles: creating profile for scheduler name {name}: initializing plugin"
                    message = f"{head} {quote(config['name'])}: {refused.errors[0]}"
                    path = f"profiles[{i}].pluginConfig[{j}].args.{file.path}"
                    raise RefusedError([message], [Problem(path, message)]) from refused


def list_pointed_files(document: Any, release: Release) -> Iterator[tuple[str, str]]:
    """Yield the path of each file that a document's arguments point at, with its plugin. The document may have any
    form.
    """
    profiles = document.get("profiles") if isinstance(document, dict) else None
    for profile in profiles if isinstance(profiles, list) else ():
        configs = profile.get("pluginConfig") if isinstance(profile, dict) else None
        for config in configs if isinstance(configs, list) else ():
            args = config.get("args") if isinstance(config, dict) else None
            spec = release.registry.find_args(str(config.get("name"))) if isinstance(args, dict) else None
            path = args.get(spec.file.path) if spec and spec.file and isinstance(args, dict) else None
            if path and isinstance(path, str):
                yield path, str(config["name"])


def file_advice(file: PointedFile, args: Json, release: Release) -> Iterator[tuple[str, str]]:
    """Yield remarks on the file that the written arguments point at, as (field, sentence)."""
    if not args[file.path]:
        return
    if args[file.into] is not None:
        yield file.path, f"is not read, since {file.into} is written here too"
    elif args[file.path] not in release.files:
        sentence = f"{quote(args[file.path])} is not known here, so the default counts: pass the file in"
        yield file.path, f"{sentence}, or write what it says as {file.into}"
