"""Where rows come from: one file a kind of source (specification 4.1)."""
