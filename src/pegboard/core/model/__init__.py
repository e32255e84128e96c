"""The nouns that everybody imports: ids, tools, servers, toolsets, principals, settings."""
