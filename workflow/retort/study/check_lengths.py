"""Check where `max_length` and `group_by_length` are set.

Only a task whose rows are single texts may have a `max_length`: a row of two texts cannot be cut without a decision
about which of the two to cut. The blocks of a corpus have one length, so there is nothing to cut or to group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from retort.study.study import Study


def problems(study: Study, everywhere: Any, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line for each `max_length` or `group_by_length` that is not allowed; the line begins with the key.

    Args:
        study: the study.
        everywhere: the length that the schedule gives for all data sets; None if it gives none.
        tasks: the name of a task or corpus -> the fields of the schedule that the file changes for it.
    """
    if everywhere is not None:
        yield "schedule.max_length: not every row can be cut; give it to the tasks that it is for, under 'tasks'"
    for name, changed in tasks.items():
        if name in study.corpora and "group_by_length" in changed:
            yield f"tasks.{name}.group_by_length: the blocks of a corpus have one length; leave it out"
        if changed.get("max_length") is None:
            continue
        if name in study.corpora:
            yield f"tasks.{name}.max_length: the blocks of a corpus have one length, its 'block'"
        elif name in study.tasks and not study.tasks[name].of_single_texts:
            yield f"tasks.{name}.max_length: only single texts are cut, and the rows of '{name}' hold two"
