"""Reasons why somebody may not sign in, as sentences for the page."""

from __future__ import annotations

from kschedweb.web.translating import gettext_lazy as _

SENTENCES = {
    "groups": _("None of your groups may use this site. Ask an admin of the site which group you need."),
    "last-admin": _("You are the last admin of this site, and your groups at the identity provider would take "
                    "that role from you. Log in with your password and make somebody else admin first."),
    "deactivated": _("Your account on this site is deactivated. Ask an admin to activate it."),
    "token": _("The identity provider's answer is not valid, so you are not signed in. Try again; if it happens "
               "again, ask an admin to check the audit trail."),
    "state": _("This sign-in is too old or was started elsewhere. Start again."),
    "cancelled": _("You did not finish the sign-in at the identity provider."),
    "exchange": _("The identity provider did not confirm the sign-in. Try again; if that does not help, tell an "
                  "admin."),
    "away": _("The identity provider does not answer. Try again in a moment."),
    "subject": _("The identity provider sent no usable user name. Tell an admin."),
}  # fmt: skip
