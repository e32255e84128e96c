"""The server lists of other clients: where they are, and what they say in our words."""
