"""Holds what is, applies what people decide, and carries calls through. Reaches the world through `ports` only."""
