"""A small library for declaring keys: field types, sections, and trees of values that know their lines."""
