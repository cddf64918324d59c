"""Tests of where the files of a source are."""

from __future__ import annotations

from typing import Any

import pytest
from retort.sources import fetch
from retort.specs.config import Config
from retort.study.load import open_study
from retort.study.study import Study


def test_the_study_is_read_once_for_all_sources(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(config: Config) -> Study:
        read.append(open_study(config))
        return read[-1]

    monkeypatch.setattr(fetch, "open_study", counted)
    places = {source: fetch.location_of(config, source) for source in ("texts", "encoder")}
    assert len(read) == 1
    assert places["texts"] != places["encoder"]
    fetch.location_of({**config, "checkpoint_seconds": 7}, "texts")
    assert len(read) == 2
