"""Text embeddings, by a model on this machine or by an endpoint."""
