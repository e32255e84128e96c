"""What the gateway needs from outside, as protocols. Adapters implement them."""
