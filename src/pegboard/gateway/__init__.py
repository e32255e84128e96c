"""The running gateway: state, commands and calls. Reaches the outside through `ports` only."""
