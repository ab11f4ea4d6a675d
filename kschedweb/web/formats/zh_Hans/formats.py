"""Numbers and moments look the same in every language."""

from django.conf.locale.en.formats import *  # noqa: F403
