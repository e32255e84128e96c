"""Who comes in over HTTP: by a token, or by the visit that a token began."""
