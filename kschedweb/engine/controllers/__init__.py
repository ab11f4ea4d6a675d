"""What admission and controllers do to pods and nodes around the scheduler."""
