"""Policies of the classic scheduler: their documents, checked and edited."""
