"""Pinning: ask the hub for the commit of a branch once, and write it into the source's YAML file."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from retort.atomic import flush_to_disk, replacing_file
from retort.data.sources.hub import commit_of
from retort.errors import RetortError
from retort.registry import unknown_name
from retort.specs.source import HubSource
from retort.specs.yaml_reader import read_yaml
from retort.study.study import Study

ASK = "write the keys of 'hub' a line each, under 'hub:'"


def _set_key(text: str, key: str, value: str) -> str:
    """Return the YAML text with `hub.<key>` set and every other character unchanged.

    Raises:
        RetortError: 'hub' is not written as a block with one key per line.
    """
    block = re.search(r"^[ \t]*hub:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n?|\s*\n|#.*\n)+)", text, re.MULTILINE)
    first = re.match(r"(?:\s*#.*\n|\s*\n)*([ \t]+)\S", block.group(1)) if block else None
    if block is None or first is None:
        raise RetortError("'hub' is not a block", ASK)
    indent, inside = first.group(1), block.group(1)
    line = re.compile(rf"^({indent}{key}:)[ \t]*[^#\n]*?([ \t]+#.*)?$", re.MULTILINE)
    if line.search(inside):
        inside = line.sub(lambda match: f"{match.group(1)} {value}{match.group(2) or ''}", inside, count=1)
    else:
        inside = f"{indent}{key}: {value}\n{inside}"
    return text[: block.start(1)] + inside + text[block.end(1) :]


def write(path: Path, commit: str, branch: str) -> None:
    """Write the commit, with a note of where and when it was read, into the source's YAML file; all else stays.

    Raises:
        RetortError: 'hub' in the file is not a block, or the new text does not read back as the same values.
    """
    note = f"answered by the hub on {datetime.datetime.now(datetime.UTC).date().isoformat()} for {branch}"
    text = _set_key(_set_key(path.read_text(encoding="utf-8"), "found", note), "commit", commit)
    with replacing_file(path) as part:
        part.write_text(text, encoding="utf-8")
        content = read_yaml(part)
        hub = content.get("hub") or content["source"]["hub"]  # the source may stand in a task's file
        if (hub.get("commit"), hub.get("found")) != (commit, note):
            raise RetortError(f"{path.name}: could not write the commit", ASK)
        flush_to_disk(part)  # the file is the user's


def pin(study: Study, names: list[str]) -> list[str]:
    """Pin sources of the hub to the commit of their branch, and return one line for each that says what was written.

    Args:
        study: the study whose source files are changed.
        names: the sources to pin, also those that have a commit; an empty list means every hub source that has none.

    Raises:
        RetortError: a source is unknown, or the hub gives no answer; sources before it stay pinned.
    """
    hubs = {name: source.hub for name, source in study.sources.items() if isinstance(source, HubSource)}
    for name in names:
        if name not in hubs:
            raise unknown_name("source of the hub", name, hubs)
    lines = []
    for name in names or [name for name, hub in hubs.items() if not hub.commit]:
        commit = commit_of(hubs[name])
        write(study.files["sources", name], commit, hubs[name].branch)
        lines.append(f"{name}: {hubs[name].repository} at {commit}")
    return lines
