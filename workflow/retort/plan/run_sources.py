"""What a run decides about its sources before it is planned: folders, commits, and what has to be left out.

All processes of a run must make the same plan, also those that the executor starts for single jobs. So the main process
asks the hub once, before the plan is made, and its jobs get the answer in the configuration. The next run decides anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from retort.errors import RetortError
from retort.plan import pinning
from retort.plan.folder_check import Absence, absent_in_folders
from retort.plan.source_check import absences, ask, on_hub, silence, was_fetched
from retort.specs.config import RunSources
from retort.study.required_sources import of_folder, required
from retort.study.study import Study


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
