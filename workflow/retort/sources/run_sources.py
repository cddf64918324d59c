"""The source check asks the hub which sources a run can get, and at which commit. A dry run leaves it out."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from retort.errors import NoAnswer, RetortError
from retort.plan.resolve_data import fetched as settings_of
from retort.sources import hub, pinning
from retort.sources.folders import Absence, absent_in_folders
from retort.specs.config import RunSources
from retort.specs.source import HubSource
from retort.study.reading import of_folder, required
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


# What a run decides about its sources before it is planned: folders, commits, and what has to be left out.
#
# All processes of a run must make the same plan, also those that the executor starts for single jobs. So the main
# process asks the hub once, before the plan is made, and its jobs get the answer in the configuration. The next run
# decides anew.


def without_asking(study: Study) -> RunSources:
    """Return the decision of a dry run: leave out only what the user's folders lack, and do not ask the hub.

    Print a line for each source whose commit a run will ask the hub for.
    """
    needed = required(study)
    lacking = absent_in_folders(study, needed)
    _tell(unpinned(study, needed))
    return _decision(study, lacking, {})


def with_answers_of_the_hub(study: Study) -> RunSources:
    """Return the decision of a run: ask the hub for each of its sources that was not fetched yet."""
    needed = required(study)
    asked = {
        name: source
        for name, source in on_hub(study, of_folder("sources", needed)).items()
        if not was_fetched(study, name)
    }
    answers = ask(asked)
    if silent := silence(answers):
        _tell([silent])
    commits = {
        name: answer.commit
        for name, answer in answers.items()
        if answer.commit and not answer.error and not asked[name].hub.commit
    }
    return _decision(study, [*absent_in_folders(study, needed), *absences(study, asked, answers)], commits)


def _decision(study: Study, absent: list[Absence], commits: dict[str, str]) -> RunSources:
    """Return a decision, and print a line for each thing that is left out."""
    _tell([f"left out: {absence.line(study)}" for absence in absent])
    missing = {absence.key: absence.reason for absence in absent}
    return RunSources(folders=study.config.folders, commits=commits, missing=missing)


def unpinned(study: Study, needed: set[str]) -> list[str]:
    """Return a line for each source of the hub whose commit is not known yet."""
    return [
        f"{study.files['sources', name].relative_to(study.folder.parent)}: hub.commit: none yet; "
        f"a run asks the hub for that of {source.hub.branch}, and writes it down"
        for name, source in on_hub(study, of_folder("sources", needed)).items()
        if source.hub.commit is None
    ]


def summary(missing: Mapping[str, str]) -> str:
    """Return the last message of a run that had to leave something out."""
    lines = "".join(f"\n  {reason}" for reason in missing.values())
    return f"everything else is made; {len(missing)} left out, and cells that need it say 'missing':{lines}"


def pin(study: Study) -> None:
    """Write the commits that the hub answered into the sources' files, with a line for each."""
    for name, commit in study.config.run_sources.commits.items():
        source, path = on_hub(study, [name])[name], study.files["sources", name]
        place = path.relative_to(study.folder.parent)
        try:
            pinning.write(path, commit, pinning.note(source.hub.branch))
            _tell([f"{place}: pinned to {commit}, {source.hub.branch} of {source.hub.repository}"])
        except (OSError, RetortError) as error:
            _tell([f"{place}: runs with {commit}, which could not be written there: {error}"])


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr, flush=True)
