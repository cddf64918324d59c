"""Families: one entry of a students.yaml whose name is a pattern, such as "{method}-{shape}", makes many students.

    axes:                                  # axes that several families use
      shape:
        6l: {label: 6 layers, architecture: {layers: 6, ...}}
        4l: {label: 4 layers, architecture: {layers: 4, ...}}

    "{method}-{shape}":
      for_each:
        method:
          hs: {label: Hidden states, objective: hidden-sequence}
          od: {label: Output distribution, objective: soft-labels}
        shape: all                         # or some of its values: [6l]
      except: [{method: od, shape: 4l}]
      title: "{method.label}, {shape.label}"
      stages: [{data: wikipedia, terms: [{objective: "{method.objective}"}]}]
      ...

There is a student for each combination of one value per axis, the last axis changing fastest. `{axis}` stands for the
name of the chosen value, and `{axis.key}` for what the value has under `key`. A key that is also a field of a student
(here `architecture`) sets this field: mappings are merged, lists called `deviations` are joined, and anything else is
replaced. Expanding needs only plain dicts and lists, and copies what it does not change.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.registry import unknown_name
from retort.specs import loading
from retort.specs.base import Name
from retort.specs.student import Student
from retort.specs.yaml_reader import read_yaml

Entry = dict[str, object]
Entries = dict[str, tuple[str, Any]]  # short name of a student -> (key in the file, entry)
Axis = dict[Any, Entry]  # the name of a value -> its keys
Combination = dict[str, tuple[Any, Entry]]  # axis -> the name and the keys of the chosen value

AXES, FOR_EACH, EXCEPT, ALL = "axes", "for_each", "except", "all"
JOINED = "deviations"  # the field whose lists are joined
_PLACEHOLDER = re.compile(r"\{([a-z][\w-]*)(?:\.([\w-]+))?\}")


def student_entries(path: Path, problems: loading.Problems, marked: bool = False) -> Entries:
    """Return the students of a file, families expanded.

    Args:
        path: the students.yaml of a paper.
        problems: the list to which problems are added; an entry that has one is left out.
        marked: make the keys of mappings know their lines.
    """
    before = len(problems.lines)
    read = problems.attempt(path, "", read_yaml, path, marked)
    if len(problems.lines) > before:
        return {}
    content = problems.validate(path, "", dict, read) or {}
    shared = problems.attempt(path, "", shared_axes, content) or {}
    problems.attempt(path, "", check_shared, content, Student.model_fields)
    students: Entries = {}
    for key, entry in content.items():
        if key == AXES or str(key).startswith("_"):  # YAML anchors
            continue
        members = {str(key): entry}
        if "{" in str(key):
            members = problems.attempt(path, key, expand, key, entry, shared, Student.model_fields) or {}
        elif isinstance(entry, dict) and FOR_EACH in entry:
            problems.add(path, f"{key}.{FOR_EACH}: the name has no axis; write it as '{{axis}}-...'")
            members = {}
        for name, member in members.items():
            if name in students:
                problems.add(path, f"{key}: '{students[name][0]}' has a student '{name}', too; rename one")
            elif problems.validate(path, "", Name, name):
                students[name] = str(key), member
    return students


def shared_axes(content: Mapping[Any, Any]) -> dict[str, Axis]:
    """Return the axes that a file defines for all of its families.

    Raises:
        RetortError: an axis is not a mapping of values.
    """
    shared = content.get(AXES) or {}
    if not isinstance(shared, dict):
        raise RetortError(f"{AXES}: not a mapping", "write axis: {value: {key: ...}}")
    return {name: _values(f"{AXES}.{name}", values) for name, values in shared.items()}


def expand(pattern: str, entry: Any, shared: Mapping[str, Axis], fields: Collection[str]) -> dict[str, Entry]:
    """Return the entries of a family by name.

    Args:
        pattern: the name of the family.
        entry: its content.
        shared: the axes of its file.
        fields: the fields of a student.

    Raises:
        RetortError: an axis, a value or a placeholder is unknown, an axis is not used, or no student is left.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get(FOR_EACH), dict):
        raise RetortError(f"a name with {{...}} needs '{FOR_EACH}'", f"write {FOR_EACH}: {{axis: {{value: ...}}}}")
    axes = {name: _axis(name, values, shared) for name, values in entry[FOR_EACH].items()}
    for name in axes:
        if f"{{{name}}}" not in pattern:
            raise RetortError(f"{FOR_EACH}.{name}: the name has no {{{name}}}", "two students would have one name")
    common = {key: value for key, value in entry.items() if key not in (FOR_EACH, EXCEPT)}
    students: dict[str, Entry] = {}
    for combination in _combinations(axes, entry.get(EXCEPT) or []):
        student = common
        for _, keys in combination.values():
            student = merge(student, {key: value for key, value in keys.items() if key in fields})
        name = str(fill(pattern, combination))
        if name in students:
            raise RetortError(f"two combinations are called '{name}'", "rename a value, or separate the axes by a dash")
        students[name] = {key: fill(value, combination) for key, value in student.items()}
    if not students:
        raise RetortError("no student is left", f"give each axis a value, or remove from '{EXCEPT}'")
    own = {name: axis for name, axis in axes.items() if name not in shared}
    _check_keys(FOR_EACH, own, entry, fields)
    return students


def _values(where: str, values: Any) -> Axis:
    """Return the values of an axis, each with the keys that it sets; a list names values that set none."""
    if isinstance(values, list):
        for number, value in enumerate(values):
            if value in values[:number]:
                raise RetortError(f"{where}: '{value}' is listed twice", "name each value once")
            if not isinstance(value, str | int) or isinstance(value, bool):
                raise RetortError(f"'{value}' is no name of a value", "write texts or whole numbers")
        return {value: {} for value in values}
    if not isinstance(values, dict) or not all(isinstance(keys, dict | None) for keys in values.values()):
        raise RetortError(f"{where}: not a mapping of values", "write {value: {key: ...}}")
    return {name: keys or {} for name, keys in values.items()}


def _axis(name: str, values: Any, shared: Mapping[str, Axis]) -> Axis:
    """Return an axis of a family: its own, or all or some values of an axis of the file."""
    where = f"{FOR_EACH}.{name}"
    if name not in shared:
        if values == ALL:
            raise RetortError(f"{where}: {unknown_name('axis', name, shared)}")
        return _values(where, values)
    if values == ALL:
        return shared[name]
    if not isinstance(values, list):
        raise RetortError(f"{where}: '{AXES}' has an axis of this name", f"write '{ALL}' or a list, or rename one")
    _check_values(where, values, shared[name])
    return {value: shared[name][value] for value in values}


def _combinations(axes: Mapping[str, Axis], left_out: Any) -> Iterator[Combination]:
    """Yield every combination of values, without those that `except` leaves out."""
    if not isinstance(left_out, list):
        raise RetortError(f"{EXCEPT}: not a list", "write [{axis: value}, {axis: [value, ...]}]")
    rules = [_rule(f"{EXCEPT}.{number}", rule, axes) for number, rule in enumerate(left_out, start=1)]
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        if not any(all(chosen[axis] in values for axis, values in rule.items()) for rule in rules):
            yield {axis: (value, axes[axis][value]) for axis, value in chosen.items()}


def _rule(where: str, rule: Any, axes: Mapping[str, Axis]) -> dict[str, list[Any]]:
    """Return one rule of `except`: axis -> the values that are left out together."""
    if not isinstance(rule, dict):
        raise RetortError(f"{where}: not a mapping", "write {axis: value} or {axis: [value, ...]}")
    listed = {axis: value if isinstance(value, list) else [value] for axis, value in rule.items()}
    for axis, values in listed.items():
        if axis not in axes:
            raise RetortError(f"{where}: {unknown_name('axis', axis, axes)}")
        _check_values(f"{where}.{axis}", values, axes[axis])
    return listed


def _check_values(where: str, values: list[Any], axis: Axis) -> None:
    """Raise an error at the first value that an axis does not have."""
    for value in values:
        if isinstance(value, list | dict) or value not in axis:
            raise RetortError(f"{where}: {unknown_name('value', value, map(str, axis))}")


def merge(below: Any, above: Any, key: str = "") -> Any:
    """Merge two values: mappings key by key, lists of deviations joined; otherwise `above` replaces `below`."""
    if isinstance(below, dict) and isinstance(above, dict):
        untouched = {name: value for name, value in below.items() if name not in above}
        changed = {name: merge(below[name], value, name) if name in below else value for name, value in above.items()}
        return untouched | changed
    return [*below, *above] if key == JOINED else above


def fill(content: Any, combination: Combination) -> Any:
    """Return the content with its placeholders filled; a text that is one placeholder becomes the value itself.

    Raises:
        RetortError: a placeholder names no axis, or a key that the value does not have.
    """
    if isinstance(content, dict):
        return {key: fill(value, combination) for key, value in content.items()}
    if isinstance(content, list):
        return [fill(value, combination) for value in content]
    if not isinstance(content, str):
        return content
    whole = _PLACEHOLDER.fullmatch(content)
    if whole:
        return _look_up(whole, combination)
    return _PLACEHOLDER.sub(lambda match: str(_look_up(match, combination)), content)


def _look_up(placeholder: re.Match[str], combination: Combination) -> Any:
    """Return the value of a placeholder: the name of the chosen value, or what that value has under the key."""
    axis, key = placeholder.groups()
    if axis not in combination:
        raise RetortError(f"{placeholder.group()}: {unknown_name('axis', axis, combination)}")
    value, keys = combination[axis]
    if key is None:
        return value
    if key not in keys:
        raise RetortError(f"{placeholder.group()}: value '{value}' has no '{key}'", f"give it one in axis '{axis}'")
    # the value may hold placeholders of the other axes
    return fill(keys[key], {other: chosen for other, chosen in combination.items() if other != axis})


def check_shared(content: Mapping[Any, Any], fields: Collection[str]) -> None:
    """Check that the families of a file use its axes, and every key of their values.

    Raises:
        RetortError: an axis is in no family, or a key is neither a field of a student nor used by a placeholder.
    """
    shared = shared_axes(content)
    axes = [entry.get(FOR_EACH) for entry in content.values() if isinstance(entry, dict)]
    used = [axis for each in axes if isinstance(each, dict | list) for axis in each]
    for axis in shared:
        if axis not in used:
            raise RetortError(f"{AXES}.{axis}: no family uses it", f"name it in the '{FOR_EACH}' of one, or remove it")
    _check_keys(AXES, shared, content, fields)


def _check_keys(where: str, axes: Mapping[str, Axis], text: Any, fields: Collection[str]) -> None:
    """Check that each key of a value is a field of a student, or used by a placeholder in the text."""
    used = set(_PLACEHOLDER.findall(str(text)))
    for axis, values in axes.items():
        for value, keys in values.items():
            for key in keys:
                if key not in fields and (axis, key) not in used:
                    raise RetortError(
                        f"{where}.{axis}.{value}.{key}: not a field of a student, nor used as {{{axis}.{key}}}",
                        unknown_name("field", key, fields).hint,
                    )
