"""What a person reads before approving: differences between two definitions of a tool."""
