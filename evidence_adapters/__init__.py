"""The ways in: how someone from outside calls the product. Nothing is decided here.

An adapter takes what was given, has `preview` and `eligibility` observe and decide, and shows what
they said. `cli` is the command line, the program `eligibility`.
"""
