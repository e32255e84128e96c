"""What the gateway itself brings: programs in a sandbox, and databases."""
