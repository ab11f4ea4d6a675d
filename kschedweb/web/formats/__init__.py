"""How each language writes numbers and moments: as English does."""
