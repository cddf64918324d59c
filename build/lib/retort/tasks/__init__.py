"""Task types; importing this package registers them."""

from __future__ import annotations

from retort.data.task_type import TaskType, task_type_of, task_types
from retort.tasks import labels, spans

__all__ = ["TaskType", "labels", "spans", "task_type_of", "task_types"]
