"""Resource claims and device classes: what pods ask of devices, and who has them."""
