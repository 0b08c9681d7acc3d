"""Evidence from executed SQL: readings, policy, observation, release."""
