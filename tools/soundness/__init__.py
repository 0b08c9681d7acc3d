"""Judges that know nothing of the readings, and a generator that tries to fool them."""
