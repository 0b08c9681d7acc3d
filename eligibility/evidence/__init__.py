"""What is kept of evidence, and what a check of it shows: entries, bundles, findings."""
