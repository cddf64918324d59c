"""Compare what results say of their parents, the results that they were made from, with those that are there now."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from retort import checksums
from retort.checksums import REMEDY, Checksums, canonical
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.study.cells import answers_address
from retort.tasks.answers import truth_of

TEMPORARY = {"tokenized", "distilled", "activations"}  # folders of results/ that a run empties itself


@dataclass(frozen=True)
class Difference:
    """A way in which results are not as they should be.

    Args:
        line: what it is, in a line.
        anew: the files and folders that are to be made anew; it is about the first.
        otherwise: what is deleted instead if the first belongs to no job of the plan.
    """

    line: str
    anew: tuple[Path, ...]
    otherwise: tuple[Path, ...]


def damage(line: str, path: Path) -> Difference:
    """Return the difference of a damaged, missing or added file or folder, which no plan needs as it is."""
    return Difference(line, (path,), (path,))


def is_temporary(path: Path) -> bool:
    """Return whether a run deletes a result itself, once the jobs that read it are done."""
    return path.parts[1] in TEMPORARY or (path.parts[1] == "students" and path.name.startswith("seed-"))


def differences_of_parents(results: Mapping[Path, Checksums]) -> Iterator[Difference]:
    """Yield a difference for each parent that is missing or another than when a result was made from it.

    Args:
        results: the results whose files exist, with the checksums of their making.
    """
    digest = functools.cache(_digest)
    missing: dict[Path, list[Path]] = {}
    for path, known in results.items():
        for parent, recorded in dict.fromkeys([*_recorded(path, known)]):
            if not parent.exists():
                if not is_temporary(parent):
                    missing.setdefault(parent, []).append(path)
            elif digest(parent) not in (None, recorded):
                yield Difference(f"{path} was made from another {parent}; {REMEDY}", (path, parent), (path,))
    for parent, made in missing.items():
        more = f" and {len(made) - 1:,} more" if len(made) > 1 else ""
        line = f"{parent} is missing, from which {made[0]}{more} {'were' if more else 'was'} made; {REMEDY}"
        yield damage(line, parent)


def _recorded(path: Path, known: Checksums) -> Iterator[tuple[Path, str]]:
    """Yield the parents of a result and their digests: of its checksums, and those that a score names itself."""
    yield from ((Path(name), parent.sha256) for name, parent in known.parents.items())
    if path.match("results/scores/*/*/seed-*.json") and not path.name.endswith(".answers.json"):
        try:
            parents = json.loads(path.read_text(encoding="utf-8")).get("parents", {})
            yield from [(Path(name), parent["sha256"]) for name, parent in parents.items()]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return  # another check says that it is no whole score


def _digest(path: Path) -> str | None:
    """Return the digest of a result as its checksums say; None without them: another check tells of that."""
    try:
        known = checksums.read(path)
    except RetortError:
        return None
    return known.digest if known else None


@dataclass
class Labels:
    """The labels of encoded tasks, read once for all scores of a task."""

    known: dict[tuple[Path, str], bytes] = field(default_factory=dict)

    def check(self, score: Path, task: TaskSettings) -> None:
        """Compare the true answers beside a score with the labels of the encoded task that it was measured on.

        Args:
            score: the score, which agrees with the answers beside it.
            task: the settings of its task.

        Raises:
            RetortError: they differ.
        """
        parents = json.loads(score.read_text(encoding="utf-8")).get("parents", {})
        stored = json.loads(Path(answers_address(str(score))).read_text(encoding="utf-8"))
        for folder in (path for path in map(Path, parents) if path.match("results/encoded/*/*") and path.exists()):
            for split, answers in stored.items():
                if canonical(answers["truth"]) != self._of(folder, split, task):
                    raise RetortError(f"{score}: the true answers on '{split}' are not the labels in {folder}", REMEDY)

    def _of(self, folder: Path, split: str, task: TaskSettings) -> bytes:
        if (folder, split) not in self.known:
            self.known[folder, split] = canonical(truth_of(folder, split, task))
        return self.known[folder, split]
