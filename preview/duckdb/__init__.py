"""DuckDB as an engine: how it is sealed, what of it may run, what its plan says."""
