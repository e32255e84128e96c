"""Overrides, and what they do to the schema of a tool. Below the policy."""
