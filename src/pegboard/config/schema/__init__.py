"""Field types, sections and value trees with line numbers, from which the keys are declared."""
