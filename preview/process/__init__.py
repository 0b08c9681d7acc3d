"""Processes: started, spoken to and ended here alone."""
