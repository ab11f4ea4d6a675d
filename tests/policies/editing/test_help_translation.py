"""The help on the arguments of plugins, in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import translation

from kschedweb.catalogues import LANGUAGES
from kschedweb.engine.config import Release
from kschedweb.engine.documents.types import Struct
from kschedweb.engine.releases import RELEASES
from kschedweb.policies.editing.help_translation import translate_help

# Kubernetes' own types, whose help is shown nowhere but in REST's schema.
UNSHOWN = {"v1.LabelSelector", "v1.LabelSelectorRequirement"}


def iter_help(kind: Any) -> Iterator[str]:
    """The help on each field of a type, and of the types of its fields."""
    if isinstance(kind, Struct) and kind.name not in UNSHOWN:
        for field in kind.fields:
            yield field.help
            yield from iter_help(field.type)
    for part in ("item", "alternative", "structured"):
        if hasattr(kind, part):
            yield from iter_help(getattr(kind, part))


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.name)
@pytest.mark.parametrize("language", [language.replace("_", "-").lower() for language in LANGUAGES])
def test_the_help_on_each_argument_of_a_plugin_is_translated(release: Release, language: str) -> None:
    texts = {
        text for spec in release.registry.specs.values() if spec.args for text in iter_help(spec.args.struct) if text
    }
    assert len(texts) > 50
    with translation.override(language):
        assert sorted(text for text in texts if translate_help(text) == text) == []
