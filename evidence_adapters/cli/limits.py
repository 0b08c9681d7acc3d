"""How long and how large the engine may get: the options of every verb that executes."""

from typing import Annotated

import typer

TIMEOUT_S = 10.0
TIMEOUT_S_MAX = 86_400.0
MEMORY_MIB = 2048
MEMORY_MIB_MIN = 512
MEMORY_MIB_MAX = 1024**2

TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.001,
        max=TIMEOUT_S_MAX,
        help="How long the engine may take for it.",
    ),
]
MemoryOption = Annotated[
    int,
    typer.Option(
        "--memory",
        metavar="MIB",
        min=MEMORY_MIB_MIN,
        max=MEMORY_MIB_MAX,
        help="Cap of the engine's process, in MiB.",
    ),
]
