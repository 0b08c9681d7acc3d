"""Frames over a socket: four bytes of length, most significant first, then as many bytes.

Invariant
  C1  What comes is data: nothing of it is unpickled or evaluated, and a frame has a largest size.
"""

import socket
import time

FRAME_BYTES_MAX = 4 * 2**20
_CHUNK_BYTES = 2**16
_LENGTH_BYTES = 4
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)


class Channel:
    """One end of a socket that frames go through, both ways."""

    def __init__(self, link: socket.socket, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        """Take over a connected socket.

        Args:
            link: the socket; it is closed with the channel.
            frame_bytes_max: how large a received frame may be, in bytes, its length included.
        """
        self._link = link
        self._frame_bytes_max = frame_bytes_max
        self._received = bytearray()

    def fileno(self) -> int:
        """Give the descriptor, to wait for what can be received."""
        return self._link.fileno()

    def send(self, frame: bytes, deadline: float | None = None) -> None:
        """Send a frame.

        Args:
            frame: any bytes.
            deadline: on the monotonic clock, in seconds; None to wait for ever.

        Raises:
            TimeoutError: where the deadline passes.
            OSError: where nobody listens.
        """
        self._link.settimeout(_left(deadline))
        self._link.sendall(len(frame).to_bytes(_LENGTH_BYTES, "big") + frame, _NO_SIGNAL)

    def receive(self, deadline: float | None = None) -> bytes:
        """Receive the next frame.

        Args:
            deadline: on the monotonic clock, in seconds; None to wait for ever.

        Returns:
            The frame.

        Raises:
            TimeoutError: where the deadline passes.
            EOFError: where the other side is gone, or sends more than is ever sent.
        """
        while (frame := self._complete()) is None:
            self._link.settimeout(_left(deadline))
            self._more()
        return frame

    def received(self) -> list[bytes]:
        """Receive once, and give the frames that are complete now.

        Call it where there is something to receive; else it waits.

        Raises:
            EOFError: as `receive`.
        """
        self._link.settimeout(None)
        self._more()
        frames = []
        while (frame := self._complete()) is not None:
            frames.append(frame)
        return frames

    def is_dead(self) -> bool:
        """Say whether the other side is gone, or has sent what nothing asked for."""
        self._link.settimeout(0)
        try:
            self._link.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return bool(self._received)
        except OSError:
            return True
        return True

    def close(self) -> None:
        """Close this end."""
        self._link.close()

    def _more(self) -> None:
        chunk = self._link.recv(_CHUNK_BYTES)
        if not chunk:
            raise EOFError
        self._received += chunk

    def _complete(self) -> bytes | None:
        """Take the first frame out of what was received; None where it is not all there."""
        received = self._received
        if len(received) < _LENGTH_BYTES:
            return None
        end = _LENGTH_BYTES + int.from_bytes(received[:_LENGTH_BYTES], "big")
        if end > self._frame_bytes_max:
            raise EOFError
        if len(received) < end:
            return None
        frame = bytes(received[_LENGTH_BYTES:end])
        del received[:end]
        return frame


def first_frame(link: socket.socket) -> bytes:
    """Receive one frame, and not one byte more: what comes after it carries descriptors."""
    size = int.from_bytes(link.recv(_LENGTH_BYTES, socket.MSG_WAITALL), "big")
    return link.recv(size, socket.MSG_WAITALL)


def _left(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
