"""The start options of the classic kube-scheduler, which documents have in the object ``classic``."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_integer, get_string, get_strings
from kschedweb.engine.releases.classic.catalogue import EDITION, GATES, V1_9, V1_13, Edition

FIELDS = ("version", "gates", "maxVolumes", "percentageOfNodesToScore")


def edition_of(raw: Json, path: str = "") -> Edition:
    """Read ``{"version", "gates", "maxVolumes", "percentageOfNodesToScore"}``. All fields are optional.

    Raises ObjectError with ``path`` and the field.
    """
    if unknown := sorted(raw.keys() - set(FIELDS)):
        raise ObjectError(f"{path}{unknown[0]}: is not known; known are {', '.join(FIELDS)}")
    version, gates = get_string(raw, "version", path) or V1_13, frozenset(get_strings(raw, "gates", path))
    max_volumes = get_integer(raw, "maxVolumes", path=path)
    percentage = get_integer(raw, "percentageOfNodesToScore", path=path)
    if version not in (V1_13, V1_9):
        raise ObjectError(f'{path}version: must be "{V1_13}" or "{V1_9}", is "{version}"')
    if wrong := sorted(gates - GATES):
        raise ObjectError(f"{path}gates: {wrong[0]} is not known; known are {', '.join(sorted(GATES))}")
    if max_volumes < 0 or not 0 <= percentage <= 100:
        problem = (
            "maxVolumes: must not be negative" if max_volumes < 0 else "percentageOfNodesToScore: must be from 0 to 100"
        )
        raise ObjectError(f"{path}{problem}")
    return Edition(version, gates, max_volumes or None, percentage)


def process_of(edition: Edition) -> Json:
    """Return the options of an edition, without default values: the reverse of ``edition_of``."""
    options: Json = {}
    if edition.version != EDITION.version:
        options["version"] = edition.version
    if edition.gates:
        options["gates"] = sorted(edition.gates)
    if edition.max_volumes is not None:
        options["maxVolumes"] = edition.max_volumes
    if edition.percentage != EDITION.percentage:
        options["percentageOfNodesToScore"] = edition.percentage
    return options
