"""Admission and controllers: the changes to pods and nodes around the scheduler."""
