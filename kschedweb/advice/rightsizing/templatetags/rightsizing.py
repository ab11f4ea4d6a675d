from __future__ import annotations

from django import template

from kschedweb.advice.rightsizing import words

register = template.Library()
register.filter("saved", words.format_saving)
