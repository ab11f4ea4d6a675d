"""Watermarks: what nodes and workloads really use, and how each published scheduler reads it."""
