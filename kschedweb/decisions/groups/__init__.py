"""How the groups of pods of a snapshot stand, and whether one of them fits: pages and REST."""
