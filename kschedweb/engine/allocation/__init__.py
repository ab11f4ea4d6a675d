"""The choice of devices for resource claims, as kube-scheduler's allocator makes it (its incubating variant)."""
