"""Which server and which token: from the environment, else from a file that nobody else can read.

There is no option for the token, as every user of a machine can read the command lines of the others.
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
OTHERS_MAY_READ = 0o077


@dataclass(frozen=True)
class Settings:
    server: str = ""
    token: str = ""
    ca_file: str = ""
    cluster: str = ""


def settings(environment: Mapping[str, str]) -> Settings:
    """What the environment says, else what the file says. Raises CommandError."""
    path, named = _place(environment)
    given = _read(path) if named or path.is_file() else {}
    said = {key: value for key, name in NAMES.items() if (value := environment.get(name, "").strip())}
    if "token" in said or "token_file" in said:
        given = {key: value for key, value in given.items() if key not in ("token", "token_file")}
    found = {**given, **said}
    token = found.get("token", "")
    if not token and (file := found.get("token_file")):
        token = _text(Path(file).expanduser(), NAMES["token_file"]).strip()
    return Settings(found.get("server", ""), token, found.get("ca_file", ""), found.get("cluster", ""))


def _place(environment: Mapping[str, str]) -> tuple[Path, bool]:
    """(the file, whether it was named, so that it must be there)."""
    if named := environment.get("KSCHEDWEB_CONFIG", ""):
        return Path(named).expanduser(), True
    folder = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".config")
    return Path(folder) / "kschedweb" / "config.yaml", False


def _read(path: Path) -> dict[str, str]:
    text = _text(path, "The configuration")
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


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise CommandError(f"{what}: {path}: {said}") from None
