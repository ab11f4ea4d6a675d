"""Scalers of workloads, by their load or by cron."""
