"""`python -m evidence_adapters`: the program."""

from evidence_adapters.cli import main

main()
