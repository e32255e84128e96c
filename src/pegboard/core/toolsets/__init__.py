"""What importing a toolset would change, as values and in words."""
