"""Task types; importing this package registers them."""

from __future__ import annotations

from retort.kinds import labels, spans
from retort.kinds.base import Kind, kind_of, kinds

__all__ = ["Kind", "kind_of", "kinds", "labels", "spans"]
