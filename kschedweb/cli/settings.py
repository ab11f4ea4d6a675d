"""The server and the token, from the environment, else from a file that nobody else can read.

There is no option for the token, since every user of a machine can read the command lines of the others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kschedweb.cli.exits import CommandError, Exit

KEYS = ("server", "token", "token_file", "ca_file", "cluster")
NAMES = {
    "server": "KSCHEDWEB_URL",
    "token": "KSCHEDWEB_TOKEN",
    "token_file": "KSCHEDWEB_TOKEN_FILE",
    "ca_file": "KSCHEDWEB_CA_FILE",
    "cluster": "KSCHEDWEB_CLUSTER",
}
# Permission bits of group and others.
OTHERS_MAY_READ = 0o077


@dataclass(frozen=True)
class CliSettings:
    server: str = ""
    token: str = ""
    ca_file: str = ""
    cluster: str = ""


def load_settings(environment: Mapping[str, str]) -> CliSettings:
    """Return the settings of the environment, else of the file. Raise CommandError."""
    path, is_explicit = _find_config_path(environment)
    file_values = _read_config(path) if is_explicit or path.is_file() else {}
    environment_values = {key: value for key, name in NAMES.items() if (value := environment.get(name, "").strip())}
    # A token in the environment also wins over the other way to give one in the file.
    if "token" in environment_values or "token_file" in environment_values:
        file_values = {key: value for key, value in file_values.items() if key not in ("token", "token_file")}
    values = {**file_values, **environment_values}
    token = values.get("token", "")
    if not token and (file := values.get("token_file")):
        token = _read_text(Path(file).expanduser(), NAMES["token_file"]).strip()
    return CliSettings(values.get("server", ""), token, values.get("ca_file", ""), values.get("cluster", ""))


def _find_config_path(environment: Mapping[str, str]) -> tuple[Path, bool]:
    """Return (the file, whether it was named, so that it must exist)."""
    if configured_path := environment.get("KSCHEDWEB_CONFIG", ""):
        return Path(configured_path).expanduser(), True
    folder = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".config")
    return Path(folder) / "kschedweb" / "config.yaml", False


def _read_config(path: Path) -> dict[str, str]:
    text = _read_text(path, "The configuration")
    import yaml

    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CommandError(f"{path}: is not YAML: {error}") from None
    if not isinstance(raw, dict):
        raise CommandError(f"{path}: must be an object with {', '.join(KEYS)}")
    for key, value in raw.items():
        if key not in KEYS:
            raise CommandError(f"{path}: {key}: is unknown; known are {', '.join(KEYS)}")
        if not isinstance(value, str):
            raise CommandError(f"{path}: {key}: must be text")
    if "token" in raw and os.name == "posix" and path.stat().st_mode & OTHERS_MAY_READ:
        raise CommandError(f"{path}: holds a token that others can read: run chmod 600 {path}", Exit.REFUSED)
    return {str(key): value.strip() for key, value in raw.items()}


def _read_text(path: Path, label: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise CommandError(f"{label}: {path}: {reason}") from None
