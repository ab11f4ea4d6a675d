"""Quota queues: Kueue admits a scenario's jobs."""
