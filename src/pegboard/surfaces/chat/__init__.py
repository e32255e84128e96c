"""The OpenAI-compatible chat API."""
