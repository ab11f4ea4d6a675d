"""Quota queues at work in a simulation: Kueue admits jobs, and their pods wait for it."""
