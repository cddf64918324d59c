"""What the printed numbers of papers say of themselves: a check a kind of finding."""

from retort.audit import numbers, rows, statements, texts
from retort.audit.base import Finding, Looked, as_text, audit, checks, first_line

__all__ = ["Finding", "Looked", "as_text", "audit", "checks", "first_line", "numbers", "rows", "statements", "texts"]
