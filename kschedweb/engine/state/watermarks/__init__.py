"""Watermarks: what nodes and workloads really use, and how the published policies read it."""
