"""The keys of pegboard.yaml, section by section: names, field types and what each does. No file is read here."""
