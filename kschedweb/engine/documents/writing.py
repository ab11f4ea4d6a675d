"""YAML that reads back as the same values: text that a reader would take for something else is quoted."""

from __future__ import annotations

from typing import Any

import yaml

from kschedweb.engine.documents.nodes import STRING
from kschedweb.engine.documents.scalars import resolve_scalar


class Dumper(yaml.SafeDumper):
    """PyYAML's dumper, except for texts such as ``y`` and ``1e3``, which are text to PyYAML but not to
    kube-scheduler.
    """


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(STRING, text, style=None if isinstance(resolve_scalar(text), str) else "'")


Dumper.add_representer(str, _represent_text)


def dump_yaml(data: Any, *, dumper: type[Dumper] = Dumper, flow: bool = False) -> str:
    """Return plain values as YAML text, with keys in their order and long lines left whole."""
    text: str = yaml.dump(
        data, Dumper=dumper, sort_keys=False, default_flow_style=flow, allow_unicode=True, width=10_000
    )
    return text
