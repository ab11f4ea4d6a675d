"""Decisions of classic policies, told as those of profiles: words, arithmetic, and what there is to choose from."""
