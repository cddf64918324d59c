"""The source check asks the hub which sources a run can get, and at which commit. A dry run leaves it out."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from retort.data import hub
from retort.errors import NoAnswer, RetortError
from retort.plan.folder_check import Absence
from retort.plan.resolve_data import fetched as settings_of
from retort.specs.source import HubSource
from retort.study.study import Study

SILENT = "the hub gives no answer"


@dataclass(frozen=True)
class Answer:
    """What the hub answered for a source: the commit, and an error if it cannot give the files."""

    commit: str | None = None
    error: RetortError | None = None


def record_of(name: str) -> Path:
    """Return the file in which the fetching job notes the settings of a source; it outlives the source's files."""
    return Path(f"results/sources/{name}.json")


def was_fetched(study: Study, name: str) -> bool:
    """Return whether a source was fetched with the settings that it has now."""
    try:
        fetched = json.loads(record_of(name).read_text(encoding="utf-8"))
        return bool(fetched == settings_of(study, name).model_dump(mode="json"))
    except (OSError, ValueError):
        return False


def on_hub(study: Study, names: Iterable[str]) -> dict[str, HubSource]:
    """Return the named sources whose files come from the hub, sorted by name."""
    chosen = {name: study.sources[name].in_use(study.config) for name in sorted(names)}
    return {name: source for name, source in chosen.items() if isinstance(source, HubSource)}


def _ask_one(source: HubSource) -> Answer:
    """Ask the hub for the commit of a source, if it is not known, and for the files of that commit."""
    commit: str | None = None
    try:
        commit = source.hub.commit or hub.commit_of(source.hub)
        hub.listing(source.at(commit).hub)
    except RetortError as error:
        return Answer(commit, error)
    return Answer(commit)


def ask(sources: dict[str, HubSource]) -> dict[str, Answer]:
    """Ask the hub for each source; if it gives no answer for the first one, give that answer for all."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return {}  # the hub's client is not installed here: the fetching job will find out
    if not sources:
        return {}
    first, *rest = sources
    answer = _ask_one(sources[first])
    if isinstance(answer.error, NoAnswer):
        return dict.fromkeys(sources, answer)
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = pool.map(lambda name: _ask_one(sources[name]), rest)
        return {first: answer, **dict(zip(rest, answers, strict=True))}


def absences(study: Study, sources: dict[str, HubSource], answers: dict[str, Answer]) -> list[Absence]:
    """Return the sources that the hub cannot give, each with what would help."""
    return [
        Absence(
            f"sources/{name}",
            study.files["sources", name],
            f"hub: {SILENT if isinstance(error, NoAnswer) else error.message}",
            _remedy(study, sources[name], error),
        )
        for name, answer in sorted(answers.items())
        if (error := answer.error)
    ]


def _remedy(study: Study, source: HubSource, error: RetortError) -> str:
    """Return what would help: at the hub, and the folder in which the files would be found instead."""
    at_hub = "run again where it is within reach" if isinstance(error, NoAnswer) else error.hint
    folder = source.folder(study.config)
    own = f"put its files into {folder}" if folder else ""
    if source.local and not folder:
        own = f"give {source.setting} in config.yaml, with its files in the folder {source.local}"
    return ", or ".join(filter(None, (at_hub, own)))


def silence(answers: dict[str, Answer]) -> str:
    """Return a line that says why the hub gives no answer; empty if it gives one."""
    errors = [answer.error for answer in answers.values() if isinstance(answer.error, NoAnswer)]
    return f"{SILENT}: {errors[0].message}" if errors else ""
