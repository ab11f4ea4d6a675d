"""A scheduling cycle: entries, the search for flavors, the order in which entries are processed."""
