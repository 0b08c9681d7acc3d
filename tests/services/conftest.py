"""A real PostgreSQL server in a temporary folder, for the tests of this folder alone."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

STARTING_TRIES = 600


def program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    path = str(found[-1]) if found else shutil.which(name)
    assert path, f"there is no {name}; make check-services installs it"
    return path


class Server:
    """A running server, asked by its own program."""

    def __init__(self, folder: Path, user: str | None) -> None:
        self.folder = folder
        self._user = user

    def run(self, *command: str) -> None:
        subprocess.run(
            command, user=self._user, cwd=self.folder, check=True, stdout=subprocess.DEVNULL
        )

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PGHOST": str(self.folder),
            "PGUSER": "owner",
            "PGDATABASE": "postgres",
            "PGPASSFILE": str(self.folder / "none"),
        }

    def ask(self, script: str, **settings: str) -> list[str]:
        """Run a script, and give the lines that psql prints: NULL is empty, one value a line."""
        run = subprocess.run(
            [program("psql"), "-qAtX", "-v", "ON_ERROR_STOP=1"],
            input=f"SET TimeZone = 'UTC'; SET lc_monetary = 'C';\n{script}",
            env={**os.environ, **self.environment, **settings},
            capture_output=True,
            text=True,
        )
        assert not run.returncode, run.stderr
        return run.stdout.splitlines()


@pytest.fixture(scope="session")
def running():
    # A path of a socket is short; and the server does not run as root.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user = None
    if os.getuid() == 0:
        user = "postgres" if _is_user("postgres") else "nobody"
        shutil.chown(folder, user)
    server = Server(folder, user)
    data = folder / "data"
    server.run(
        *(program("initdb"), "-D", str(data), "-U", "owner", "-A", "trust", "-N"),
        *("--locale=C", "--encoding=UTF8"),
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(program("postgres"), "-D", str(data), "-k", str(folder)),
                *("-c", "listen_addresses=", "-c", "fsync=off"),
            ],
            user=user,
            cwd=folder,
            stderr=log,
        )
    try:
        for _ in range(STARTING_TRIES):
            ready = [program("pg_isready"), "-q", "-h", str(folder)]
            if process.poll() is not None or not subprocess.run(ready).returncode:
                break
            time.sleep(0.1)
        assert process.poll() is None, (folder / "log").read_text()
        yield server
    finally:
        process.send_signal(signal.SIGINT)  # no new statement, no wait for a client
        process.wait()
        shutil.rmtree(folder)


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@pytest.fixture
def server(running, monkeypatch):
    """The server with a fresh schema `x`, and an environment that says where it is."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    running.ask("SET client_min_messages = error; DROP SCHEMA IF EXISTS x CASCADE; CREATE SCHEMA x")
    return running
