"""Hypothesis for mutants: the same examples every time, and few of them."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "mutation",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=30,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutation")
