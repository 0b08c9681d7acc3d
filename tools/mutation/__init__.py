"""Changed copies of the decision, and the tests that tell them from it."""
