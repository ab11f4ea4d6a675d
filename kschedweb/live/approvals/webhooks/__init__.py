"""Notify other programs of requests by signed webhooks, with retries."""
