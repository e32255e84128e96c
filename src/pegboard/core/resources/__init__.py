"""Prompts, resources and resource templates: which of them a caller gets, and requests for them."""
