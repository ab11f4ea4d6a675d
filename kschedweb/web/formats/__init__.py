"""Formats of numbers and moments in each language: the same as in English."""
