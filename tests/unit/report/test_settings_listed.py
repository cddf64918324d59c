"""Tests of the settings on a page: what students share is written once, and nothing is lost."""

from __future__ import annotations

import json

import pytest
from retort.plan import resolve
from retort.plan.value_lines import dotted, leaves
from retort.report.settings_listed import ListedSettings, settings_of
from retort.study.study import Study

from tests.tiny.results import opened

REPLACED = ("teacher", "task")  # of what is stored: by a name


@pytest.fixture(scope="module")
def study() -> Study:
    """Return the study as it is shipped, at the papers' own scale."""
    return opened({"papers": ["wang2023"], "scale": "paper", "run_sources": {"precision": "float32"}})


def values_of(one: ListedSettings) -> dict[str, str]:
    """Return the settings as a reader puts them together: those of the other student, and what differs."""
    values = values_of(one.like) if one.like else {}
    values |= dict(line.split(": ", 1) for line in one.lines)
    return {key: value for key, value in values.items() if value != "not set"}


def test_every_setting_can_be_read_and_most_are_written_once(study: Study) -> None:
    listed = settings_of(study, "wang2023")
    assert len({one.name for one in listed}) == len(listed) > 5
    for one in listed:
        stamped = resolve.score(study, one.name, one.task).as_json()
        shown = values_of(one)
        if one.name in study.students:  # the teacher is named, and has an entry of its own
            assert shown["teacher"] == json.dumps(study.students[one.name].teacher)
        stored = {dotted(*steps): json.dumps(value) for steps, value in leaves(stamped) if steps[0] not in REPLACED}
        assert stored == {key: value for key, value in shown.items() if key.split(".")[0] not in REPLACED}
        assert one.like is None or one.like.like is None  # a reader follows one link
    written = sum(len(one.lines) for one in listed)
    assert written < sum(len(values_of(one)) for one in listed) / 2
