"""How many recorded outputs of models are read as they were recorded: in one piece and in chunks."""
