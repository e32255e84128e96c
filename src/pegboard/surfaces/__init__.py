"""Translate and nothing else: none knows another, none imports providers or store, none decides."""
