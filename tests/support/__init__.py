"""Servers, browsers and small helpers that tests of several folders share."""
