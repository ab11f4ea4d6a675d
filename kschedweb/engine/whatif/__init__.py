"""Questions about a cluster that is not, or not yet: scenarios, runs, capacity."""
