"""What a person reads before an approval: differences between two tool definitions."""
