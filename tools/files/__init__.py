"""Judges that know nothing of the readers, and a generator of hostile files (specification 4.1)."""
