"""Texts as vectors: by a model on this machine, or by an endpoint elsewhere. Each is an `Encoder`."""
