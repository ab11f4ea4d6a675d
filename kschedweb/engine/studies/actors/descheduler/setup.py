"""Set up the descheduler that a scenario has."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.loading import PolicyRefused
from kschedweb.engine.simulation.descheduling import DeschedulerSetup
from kschedweb.engine.studies.actors.descheduler.keys import FIELD
from kschedweb.engine.studies.actors.preparing import ActorPart, ScenarioActor
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.parts import DeschedulerSettings


def prepare_descheduler(objects: Sequence[Json], settings: DeschedulerSettings | None) -> ActorPart:
    if settings is None:
        return ActorPart(list(objects))
    try:
        setup = DeschedulerSetup.from_document(settings.policy, objects, settings.interval)
    except PolicyRefused as refused:
        path = f"{FIELD.name}.policy"
        problems = [DocumentProblem(f"{path}.{problem.path}".rstrip("."), problem.text) for problem in refused.problems]
        raise ScenarioError(problems) from None
    return ActorPart(list(objects), setup)


ACTOR = ScenarioActor(FIELD.name, prepare_descheduler)
