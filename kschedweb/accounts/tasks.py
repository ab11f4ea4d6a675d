"""Mail to people, sent by a worker, so that an answer takes the same time for known and unknown addresses."""

from __future__ import annotations

from kschedweb.accounts.password_reset import MailForm
from kschedweb.celery import app


@app.task(name="kschedweb.accounts.tasks.mail_password_links")  # type: ignore[untyped-decorator]
def mail_password_links(email: str, host: str, *, https: bool) -> None:
    """Mail a link to everybody with this address who logs in with a password."""
    form = MailForm({"email": email})
    if form.is_valid():
        form.save(
            domain_override=host,
            use_https=https,
            subject_template_name="accounts/mail/password_subject.txt",
            email_template_name="accounts/mail/password.txt",
        )
