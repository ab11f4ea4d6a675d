"""Names, labels and selectors that the API server refuses, in its words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kschedweb.engine.refusals.part import Part
from kschedweb.engine.validation.fields import Problem, Typed, forbidden, invalid, required
from kschedweb.engine.validation.labels import (
    dns_label_complaints,
    name_complaints,
    subdomain_complaints,
    value_complaints,
)

MUST_HAVE = "must be specified when `operator` is 'In' or 'NotIn'"
MUST_NOT_HAVE = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
NO_OPERATOR = "not a valid selector operator"


def key_problems(path: str, key: str) -> Iterator[Problem]:
    """``key`` as that of a label, a taint or a topology."""
    return (invalid(path, key, said) for said in name_complaints(key))


def value_problems(path: str, value: str) -> Iterator[Problem]:
    return (invalid(path, value, said) for said in value_complaints(value))


def label_problems(labels: Part) -> Iterator[Problem]:
    listed = labels.labels
    if not any(map(name_complaints, listed)) and not any(map(value_complaints, listed.values())):
        return
    for key, value in sorted(listed.items()):
        yield from key_problems(labels.path, key)
        yield from value_problems(labels.path, value)


def subdomain_problems(name: Part) -> Iterator[Problem]:
    """A name that may have dots, such as that of a node; nothing is said of an empty one."""
    return (invalid(name.path, name.text, said) for said in subdomain_complaints(name.text) if name.text)


def dns_label_problems(name: Part) -> Iterator[Problem]:
    """A name without dots, such as that of a container; nothing is said of an empty one."""
    return (invalid(name.path, name.text, said) for said in dns_label_complaints(name.text) if name.text)


def selector_problems(selector: Part) -> Iterator[Problem]:
    """A selector of labels: ``matchLabels`` and ``matchExpressions``."""
    yield from label_problems(selector["matchLabels"])
    for asked in selector["matchExpressions"].items:
        yield from _count_problems(asked, ())
        yield from key_problems(asked.to("key"), asked["key"].text)
        yield from listed_value_problems(asked["values"])


def node_selector_problems(selector: Part, *, loose: bool = False) -> Iterator[Problem]:
    """Required node affinity, that of a pod or of a volume."""
    terms = selector["nodeSelectorTerms"]
    if not terms.items:
        yield required(terms.path, "must have at least one node selector term")
    for term in terms.items:
        yield from node_term_problems(term, loose=loose)


def node_term_problems(term: Part, *, loose: bool) -> Iterator[Problem]:
    """One term of node affinity; with ``loose`` values of labels may be anything, as in preferred ones."""
    for asked in term["matchExpressions"].items:
        yield from _count_problems(asked, ("Gt", "Lt"))
        yield from key_problems(asked.to("key"), asked["key"].text)
        if not loose:
            yield from listed_value_problems(asked["values"])
    for asked in term["matchFields"].items:
        yield from _field_problems(asked)


def listed_value_problems(values: Part) -> Iterator[Problem]:
    for at, value in enumerate(values.texts):
        yield from value_problems(f"{values.path}[{at}]", value)


def _count_problems(asked: Part, comparing: Sequence[str]) -> Iterator[Problem]:
    """Whether there are as many values as the operator takes."""
    operator, values = asked["operator"].text, asked["values"]
    if operator in ("In", "NotIn"):
        if not values.texts:
            yield required(values.path, MUST_HAVE)
    elif operator in ("Exists", "DoesNotExist"):
        if values.texts:
            yield forbidden(values.path, MUST_NOT_HAVE)
    elif operator in comparing:
        if len(values.texts) != 1:
            yield required(values.path, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(asked.to("operator"), Typed(operator), NO_OPERATOR)


def _field_problems(asked: Part) -> Iterator[Problem]:
    values = asked["values"]
    if asked["operator"].text not in ("In", "NotIn"):
        yield invalid(asked.to("operator"), Typed(asked["operator"].text), NO_OPERATOR)
    elif len(values.texts) != 1:
        said = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(values.path, said)
    if (key := asked["key"].text) != "metadata.name":
        yield invalid(asked.to("key"), key, "not a valid field selector key")
        return
    for at, value in enumerate(values.texts):
        yield from (invalid(f"{values.path}[{at}]", value, said) for said in subdomain_complaints(value))


def completed(term: Part, labels: Mapping[str, str]) -> Part:
    """The term or constraint of a pod with ``labels`` as the API server keeps it.

    It writes the pod's own values for ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selector.
    """
    selector = term["labelSelector"]
    asked = [(key, "In") for key in term["matchLabelKeys"].texts]
    asked += [(key, "NotIn") for key in term["mismatchLabelKeys"].texts]
    more = [{"key": key, "operator": sign, "values": [labels[key]]} for key, sign in asked if key in labels]
    if not more or not isinstance(selector.value, dict):
        return term
    expressions = [*(one.value for one in selector["matchExpressions"].items), *more]
    return Part(term.path, {**term.value, "labelSelector": {**selector.value, "matchExpressions": expressions}})


def label_key_problems(term: Part) -> Iterator[Problem]:
    """``matchLabelKeys`` and ``mismatchLabelKeys`` of a completed term or constraint."""
    match, mismatch, selector = term["matchLabelKeys"], term["mismatchLabelKeys"], term["labelSelector"]
    for keys in (match, mismatch):
        if keys.texts and not selector.given:
            yield forbidden(keys.path, "must not be specified when labelSelector is not set")
        elif selector.given:
            for at, key in enumerate(keys.texts):
                yield from key_problems(f"{keys.path}[{at}]", key)
    places = {key: at for at, key in enumerate(match.texts)}
    seen = set(selector["matchLabels"].labels)
    for key in (asked["key"].text for asked in selector["matchExpressions"].items):
        if key in places and key in seen:
            yield invalid(f"{term.path}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)
    for at, key in enumerate(match.texts):
        if key in mismatch.texts:
            yield invalid(f"{match.path}[{at}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")
