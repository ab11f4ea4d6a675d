"""Watermarks as annotations on nodes and workloads: what is written, what is found wrong, and when it is taken away."""
