"""Conversion of a classic policy to profiles, with a note on each of its rules."""
