"""The systems measured by peers.py, one module each, and what they share."""
