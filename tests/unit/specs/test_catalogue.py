"""Tests of what is read of registered classes and functions without an import."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli import main
from retort.errors import RetortError
from retort.specs import catalogue
from retort.specs.mappings import mappings


def test_an_objective_without_a_docstring_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text('@objectives.register("my-loss")\nclass Mine:\n    version = 1\n')
    monkeypatch.setattr(catalogue, "PACKAGE", tmp_path)
    with pytest.raises(RetortError, match=r"mine.py: 'my-loss' has no docstring; write what it does in the first line"):
        catalogue.catalogue("objectives", "mine.py")


def test_a_mapping_without_a_docstring_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mappings["uniform"], "__doc__", None)
    assert main(["list", "mappings"]) == 2
    assert capsys.readouterr().err.startswith("retort list: mappings.py: 'uniform' has no docstring; ")
