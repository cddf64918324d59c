"""Parents: the results that a job reads, compared with the checksums that were taken when they were made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from retort import checksums
from retort.checksums import Maker, Parent
from retort.errors import RetortError


def read(inputs: Iterable[Path], say: Callable[[str], None]) -> tuple[dict[str, Parent], set[Maker]]:
    """Check the results that a job reads; return them as parents by path, and the code that made them and theirs.

    The content of a file is compared only if its size or time has changed.

    Args:
        inputs: the results.
        say: called with a line about a result without checksums.

    Raises:
        RetortError: a result has changed, or its checksums are gone.
    """
    parents, makers = dict[str, Parent](), set[Maker]()
    for path in inputs:
        taken = checksums.check_parent(path, say)
        if taken is not None:
            parents[str(path)] = Parent(**taken.maker.model_dump(), sha256=taken.digest)
            makers |= {taken.maker, *taken.ancestors}
    return parents, makers


def damage(inputs: Iterable[Path]) -> str | None:
    """Return a line about the first result with a changed content; None if there is none."""
    try:
        for path in inputs:
            checksums.check(path, thorough=True)
    except RetortError as error:
        return str(error)
    return None
