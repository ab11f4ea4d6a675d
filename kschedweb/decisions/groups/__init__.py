"""The groups of pods of a snapshot, their states, and whether one of them fits: pages and REST."""
