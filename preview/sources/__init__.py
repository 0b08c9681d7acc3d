"""Where rows come from: one file a kind of source (contract 4.1)."""
