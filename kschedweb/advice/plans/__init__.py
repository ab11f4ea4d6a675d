"""Plans of moves: which pods to evict so that an objective is reached, shown, exported, and tried in a scenario."""
