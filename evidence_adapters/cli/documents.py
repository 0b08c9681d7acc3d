"""How a JSON document is printed for machines (specification 9)."""

import json
from typing import Any


def json_bytes(document: Any) -> bytes:
    r"""Give one document as one line.

    Args:
        document: plain JSON values.

    Returns:
        UTF-8 with a newline; what is no text in UTF-8 becomes a JSON escape.
    """
    return (json.dumps(document, ensure_ascii=False) + "\n").encode(errors="backslashreplace")
