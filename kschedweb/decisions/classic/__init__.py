"""Decisions of classic policies: presentation, arithmetic, and the catalogue of predicates and priorities."""
