"""ONLYOFFICE DocSpace as the core knows it: how it is reached, which tools it brings, and what a caller may lend."""
