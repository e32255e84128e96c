"""The HTTP server below all surfaces."""
