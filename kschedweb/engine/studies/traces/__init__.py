"""Recorded clusters: nodes, pods and their times, read from files line by line within bounds."""
