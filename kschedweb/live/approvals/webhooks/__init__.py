"""Requests told to other programs: signed webhooks, with retries."""
