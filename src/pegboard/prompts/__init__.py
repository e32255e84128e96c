"""What a model is told and how its answer is read. Pure."""
