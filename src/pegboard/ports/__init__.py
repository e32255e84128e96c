"""What the gateway asks of the world. Adapters implement these; the core never sees them."""
