"""Other ways to build the same gateway, measured beside ours."""
