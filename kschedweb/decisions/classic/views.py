"""The pages that explain the predicates and priorities of classic policies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml
from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions import selectors
from kschedweb.decisions.classic import catalogue
from kschedweb.engine.releases.classic.catalogue import GATES
from kschedweb.engine.releases.classic.descriptions import PREDICATE

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
@requires(Action.VIEW)
def list_classic_rules(request: HttpRequest) -> HttpResponse:
    """Show all predicates in their order, and all priorities."""
    entries = catalogue.list_entries(selectors.classic_uses())
    context = {
        "predicates": [entry for entry in entries if entry.rule.kind == PREDICATE],
        "priorities": [entry for entry in entries if entry.rule.kind != PREDICATE],
        "gates": sorted(GATES),
    }
    return render(request, "decisions/classic.html", context)


@require_safe
@requires(Action.VIEW)
def show_classic_rule(request: HttpRequest, name: str) -> HttpResponse:
    """Show one predicate or priority, with an example that the engine evaluates."""
    entries = catalogue.list_entries(selectors.classic_uses())
    numbers = {entry.rule.name: number for number, entry in enumerate(entries)}
    if name not in numbers:
        raise Http404(f"Version 1.13 and 1.9 have no predicate or priority {name}; the list has all that they have.")
    number = numbers[name]
    rule = entries[number].rule
    example, lines = catalogue.explain_example(rule)
    objects = [catalogue.trim_object(raw) for raw in example.objects]
    context = {
        "entry": entries[number],
        "before": entries[number - 1] if number else None,
        "after": entries[number + 1] if number + 1 < len(entries) else None,
        "reasons": list(zip(rule.reasons, rule.short_reasons, strict=True)),
        "example_argument": json.dumps({rule.argument: json.loads(rule.shape)}, indent=2) if rule.argument else "",
        "counterpart": rule.counterpart,
        "example": example,
        "decision": example.decision,
        "answer": example.decision.build_headline(),
        "lines": lines,
        "objects": yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True),
    }
    return render(request, "decisions/classic_entry.html", context)
