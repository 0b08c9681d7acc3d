"""Judges that know nothing of the readers, and a generator of hostile files (contract 4.1)."""
