"""The descheduler: pods that are evicted every so often."""
