"""Results of one scale are not overwritten at another: a score has one address, whatever the scale."""

from __future__ import annotations

from pathlib import Path

from retort.errors import RetortError
from retort.specs.book import Book

MARK = Path("results/scale")


def keep_apart(book: Book) -> None:
    """Nothing; the folder of results is marked with the scale at which papers' students are run in it.

    Raises:
        RetortError: they were run at another scale there.
    """
    scale = book.config.scale
    if not any(map(book.is_printed, book.running)):
        return
    held = MARK.read_text(encoding="utf-8").strip() if MARK.is_file() else scale
    if held != scale:
        raise RetortError(
            f"results/ holds runs at scale {held}, which runs at scale {scale} would overwrite",
            "move results/ away, or work in another checkout",
        )
    MARK.parent.mkdir(exist_ok=True)
    MARK.write_text(f"{scale}\n", encoding="utf-8")
