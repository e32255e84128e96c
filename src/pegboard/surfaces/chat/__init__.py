"""The chat surface: an OpenAI-compatible endpoint in front of any model server. Translates, and nothing else."""
