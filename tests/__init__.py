"""The tests mirror kschedweb/; what they share is in conftest.py and support/."""
