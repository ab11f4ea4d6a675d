"""Quota: amounts, the objects that grant it, the tree of cohorts and queues, and shares."""
