"""Imports, exports and removes toolsets: their files, and the command that installs them."""
