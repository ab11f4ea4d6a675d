"""A classic policy as profiles: what became of each of its rules, and a policy made of it."""
