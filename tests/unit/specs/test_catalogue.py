"""Tests of what is read of registered classes and functions without an import."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.errors import RetortError
from retort.specs import catalogue


def test_an_objective_without_a_docstring_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text('@objectives.register("my-loss")\nclass Mine:\n    version = 1\n')
    monkeypatch.setattr(catalogue, "PACKAGE", tmp_path)
    with pytest.raises(RetortError, match=r"mine.py: 'my-loss' has no docstring; write what it does in the first line"):
        catalogue.catalogue("objectives", "mine.py")
