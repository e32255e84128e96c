"""Toolsets before they are imported: archives and folders, checked before anything is written."""
