"""The API server's refusals of controllers of pods: the selector, the number of pods, and the template."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.objects.labels import SelectorError, label_selector
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.labels import label_problems, selector_problems, value_problems
from kschedweb.engine.refusals.pods import template_problems
from kschedweb.engine.refusals.resources import NEGATIVE
from kschedweb.engine.validation.fields import Problem, Typed, invalid, required, unsupported

FOREVER = ("Always",)
NO_MATCH = "`selector` does not match template `labels`"


def controller_problems(item: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    kind, spec = item["kind"].text, item["spec"]
    selector, template = spec["selector"], spec["template"]
    yield from _count_problems(spec["replicas"])
    yield from selector_problems(selector)
    if not selector.is_given and kind != "DaemonSet":
        yield required(selector.path)
    elif selector.is_given and not selector["matchLabels"].labels and not selector["matchExpressions"].items:
        # The original says "deployment" for a ReplicaSet, too.
        kind_name = "deployment" if kind == "ReplicaSet" else kind.lower()
        yield invalid(selector.path, Typed({}), f"empty selector is invalid for {kind_name}")
    try:
        matches = label_selector(selector.value, "").matches(template["metadata"]["labels"].labels)
    except SelectorError:
        if kind != "DaemonSet":  # the others are not looked at any further
            message = "" if kind == "StatefulSet" else "invalid label selector"
            yield invalid(selector.path, Typed(_selector_to_json(selector)), message)
            return
    else:
        if not matches:
            labels = template["metadata"]["labels"]
            yield invalid(labels.path, Typed(_sort_labels(labels)), NO_MATCH)
    yield from _template_problems(template)
    restart = template["spec"]["restartPolicy"]
    if restart.text and restart.text not in FOREVER:
        yield unsupported(restart.path, Typed(restart.text), FOREVER)


def _sort_labels(labels: FieldValue) -> dict[str, str] | None:
    return dict(sorted(labels.labels.items())) if labels.is_given else None


def _selector_to_json(selector: FieldValue) -> dict[str, object]:
    """Return a selector as Go writes it: in the order of its fields, without empty ones."""
    expressions = [
        {
            name: expression[name].value
            for name in ("key", "operator", "values")
            if expression[name].value or name != "values"
        }
        for expression in selector["matchExpressions"].items
    ]
    fields = {"matchLabels": _sort_labels(selector["matchLabels"]), "matchExpressions": expressions}
    return {name: value for name, value in fields.items() if value}


def job_problems(item: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a Job. The API server makes its selector, and labels its pods with the job's name."""
    template = item["spec"]["template"]
    for name in ("parallelism", "completions"):
        yield from _count_problems(item["spec"][name])
    yield from value_problems(template.path_to("labels"), item["metadata"]["name"].text)
    yield from _template_problems(template)


def _template_problems(template: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a template: its labels, which the API server places beside ``metadata``, and its pods."""
    yield from label_problems(FieldValue(template.path_to("labels"), template["metadata"]["labels"].value))
    yield from template_problems(template["spec"])


def _count_problems(count: FieldValue) -> Iterator[Problem]:
    if count.number < 0:
        yield invalid(count.path, count.number, NEGATIVE)
