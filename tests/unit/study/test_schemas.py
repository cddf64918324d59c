"""Tests of the JSON schemas: current, named in the first line of every YAML file, and true of these files."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from retort.errors import RetortError
from retort.specs.config import ROOT
from retort.specs.protocol import Schedule
from retort.specs.yaml_reader import read_yaml
from retort.study import schemas
from retort.study.schemas import FILES, FOLDER, MARK, current_files, schema_text, write_files

STUDY = [(name, path) for name, file in FILES.items() for path in sorted(ROOT.glob(file.pattern))]


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return what validates files by a schema, after a check of the schema itself."""
    schema = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def mistakes(name: str, content: Any) -> list[str]:
    """Return what a schema says against the content of a file, whose keys become strings as in JSON."""
    found = validator(name).iter_errors(json.loads(json.dumps(content)))
    return [f"{error.json_path}: {error.message}" for error in found]


def test_schemas_and_first_lines_are_current() -> None:
    old = [path for path, text in current_files().items() if not path.is_file() or path.read_text("utf-8") != text]
    assert old == [], "run `python -m retort.study.schemas`"
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.json" for name in FILES}


def test_every_yaml_file_has_a_schema() -> None:
    there = {ROOT / "config.yaml", *(ROOT / "workflow").rglob("*.yaml")} - {*(ROOT / "workflow/profiles").rglob("*")}
    assert there - {path for _, path in STUDY} == set()
    assert len(STUDY) == len({path for _, path in STUDY})


@pytest.mark.parametrize(("name", "path"), STUDY, ids=lambda value: str(value).removeprefix(f"{ROOT}/"))
def test_a_file_names_its_schema_and_meets_it(name: str, path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(MARK)
    assert (path.parent / first.removeprefix(MARK)).resolve() == FOLDER / f"{name}.json"
    assert mistakes(name, read_yaml(path)) == []


FAMILY = {"for_each": {"size": ["6l"]}, "title": "{size}", "protocol": "short"}
SCHEDULE = {"steps": 10, "batch_size": 4, "learning_rate": 0.1}
PROTOCOL = {"title": "T", "schedule": SCHEDULE, "seeds": [1]}
CONTENTS = [  # what is right has no message
    ("students", {"axes": {"size": {"6l": None}}, "{size}": FAMILY, "_anchors": {"anything": [1]}}, ""),
    ("protocol", {**PROTOCOL, "tasks": {"a": {"steps": 3}}}, ""),
    ("source", {"title": "T", "path": "texts"}, ""),
    ("config", {"papers": None, "scale": "reduced"}, ""),
    ("students", {"a b": {}}, "'a b' does not match any of the regexes"),
    ("students", {"a": FAMILY}, "'for_each' was unexpected"),
    ("claims", {"axes": {}}, "is a required property"),
    ("protocol", {"title": "T", "seeds": [1]}, "'schedule' is a required property"),
    ("protocol", {**PROTOCOL, "tasks": {"a": {"step": 3}}}, "'step' was unexpected"),
    ("source", {"title": "T", "path": "texts", "sha256": "z"}, "is not valid under any of the given schemas"),
    ("config", {"scale": "a b"}, "does not match"),
]


@pytest.mark.parametrize(("name", "content", "message"), CONTENTS)
def test_a_mistake_is_seen(name: str, content: Any, message: str) -> None:
    found = mistakes(name, content)
    assert any(message in line for line in found) if message else found == [], found


@pytest.mark.parametrize("name", FILES)
def test_every_key_is_described(name: str) -> None:
    schema = json.loads(schema_text(name))
    for model in (schema, *schema.get("$defs", {}).values()):
        for key, field in model.get("properties", {}).items():
            assert field.get("description"), f"{model.get('title')}: {key}"


def test_a_change_of_a_schedule_has_no_defaults() -> None:
    changes = json.loads(schema_text("protocol"))["properties"]["tasks"]["patternProperties"]
    (fields,) = (change["properties"] for change in changes.values())
    assert set(fields) == set(Schedule.model_fields)
    assert not any("default" in field for field in fields.values())


def test_the_module_writes_what_is_not_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "ROOT", tmp_path)
    monkeypatch.setattr(schemas, "FOLDER", tmp_path / "workflow/schemas")
    (tmp_path / "workflow/tasks").mkdir(parents=True)
    task, config = tmp_path / "workflow/tasks/a.yaml", tmp_path / "config.yaml"
    task.write_text("# a task\ntitle: é\n", encoding="utf-8")
    config.write_text(f"{MARK}old.json\nscale: pocket\n", encoding="utf-8")
    write_files()
    assert len(capsys.readouterr().out.splitlines()) == len(FILES) + 2
    assert task.read_text(encoding="utf-8") == f"{MARK}../schemas/task.json\n# a task\ntitle: é\n"
    assert config.read_text(encoding="utf-8") == f"{MARK}workflow/schemas/config.json\nscale: pocket\n"
    write_files()
    assert capsys.readouterr().out == ""
    right = task.read_bytes()
    task.write_bytes(b"\xef\xbb\xbf" + right)
    write_files()
    assert task.read_bytes() == right  # one first line, and no byte order mark
    task.write_bytes("title: é\n".encode("latin-1"))
    with pytest.raises(RetortError, match=r"workflow/tasks/a.yaml: not UTF-8 text \("):
        write_files()
