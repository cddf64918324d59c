"""Where `max_length` may stand: with a task whose rows are single texts, for those alone are cut without a choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retort.specs.book import Book


def problems(book: Book, everywhere: Any, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Every reason, a line each, why rows cannot be cut as a file says; the line begins with the key.

    Args:
        everywhere: the length that a schedule gives for whatever is trained on, if any.
        tasks: what the file changes on tasks and corpora.
    """
    if everywhere is not None:
        yield "schedule.max_length: not every row can be cut; give it to the tasks that it is for, under 'tasks'"
    for name, changed in tasks.items():
        if changed.get("max_length") is None:
            continue
        if name in book.corpora:
            yield f"tasks.{name}.max_length: the blocks of a corpus have one length, its 'block'"
        elif name in book.tasks and not book.tasks[name].of_single_texts:
            yield f"tasks.{name}.max_length: only single texts are cut, and the rows of '{name}' hold two"
