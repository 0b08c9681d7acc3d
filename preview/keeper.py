"""What a recorder asks of what keeps its observations: a port, which `preview.ledger` fills."""

from typing import Protocol

from eligibility.sql.manifest import Manifest
from eligibility.sql.observation import Observation


class Keeper(Protocol):
    """Keeps a snapshot's manifest and every observation; each call raises `LedgerError` or is done."""

    def check(self) -> None:
        """See, before a statement is executed, that an entry could be appended."""

    def record_snapshot(self, manifest: Manifest) -> object:
        """Keep a manifest, unless it is there."""

    def record(self, observation: Observation) -> object:
        """Keep an observation, unless it is there; once this returns, it is on the disk."""
