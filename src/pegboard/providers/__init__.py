"""Where tools come from: one package for each kind of source. None imports another."""
