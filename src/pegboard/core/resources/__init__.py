"""Prompts, resources and resource templates: which a caller gets, and requests for them."""
