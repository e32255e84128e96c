"""Grammars for constrained decoding: what a model server lets a model write, so that its calls can be read.

What a grammar admits is a call in its format. It holds a model to the shapes of arguments and not to every rule of
their schemas: bounds of numbers, patterns of texts and long lengths are left to the check of arguments.
"""
