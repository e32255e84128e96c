"""Where tools come from: one package a kind of source, and none knows another."""
