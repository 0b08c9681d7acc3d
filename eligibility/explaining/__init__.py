"""What is at fault in a statement, and what would help: as data, for people and models alike.

Nothing here decides: what is found is only ever shown, or tried out with `classify`. The public
names are `eligibility.marks`, `eligibility.edits` and `eligibility.explaining`, after which this package
cannot be called: a package of that name would hide the function.
"""
