"""`python -m eligibility`: the program."""

from eligibility.cli import main

main()
