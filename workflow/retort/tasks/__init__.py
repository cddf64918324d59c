"""Task types; importing this package registers them."""

from __future__ import annotations

from retort.tasks import labels, spans
from retort.tasks.base import TaskType, task_type_of, task_types

__all__ = ["TaskType", "labels", "spans", "task_type_of", "task_types"]
