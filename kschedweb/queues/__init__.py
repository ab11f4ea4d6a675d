"""Quota queues (Kueue) of a snapshot: the tree of quota, who waits, why, and when it gets quota: pages and REST."""
