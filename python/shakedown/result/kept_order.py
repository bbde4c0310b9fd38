"""The folder of a run in the lab while it goes on: it holds the order and nothing else, since a guest keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shakedown.errors import Interrupted


@contextmanager
def kept_order(order: Path, what: str) -> Iterator[None]:
    """While a ``what`` (``run``, ``rebuild``) is played whose order lies there.

    Whatever ends it but a result, nothing is left; the order is, of one that was only stopped. Raises Interrupted.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(
            f"interrupted; of a {what} in the lab nothing is kept but its order",
            hint=f"play it again, with the same outcome: `shakedown {what} --resume {order.parent}`",
        ) from error
    except BaseException:
        order.unlink(missing_ok=True)
        if not any(order.parent.iterdir()):
            order.parent.rmdir()
        raise
    order.unlink()
