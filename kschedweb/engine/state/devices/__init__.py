"""Resource claims and devices: the needs of pods, and the devices in use."""
