"""Recordings: nodes, pods and their times, read from files line by line within limits."""
