"""Watermarks: the real use of nodes and workloads, and the form in which each published scheduler reads it."""
