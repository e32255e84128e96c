"""Toolsets on their way in: archives and folders that nobody vouches for, looked at before anything is written."""
