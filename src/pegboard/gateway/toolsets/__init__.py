"""Toolsets on their way onto the board and off it again: their files, and the one command that swaps all of them."""
