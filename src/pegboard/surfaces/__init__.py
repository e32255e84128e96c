"""Surfaces translate between the gateway and clients. They decide nothing and do not import each other."""
