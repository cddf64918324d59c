"""The frame of an exhibit: a line for each reported cell, with what is reported, measured, judged and recorded of it.

It is kept as a CSV file, which `pandas.read_csv` reads. Tables, verdicts, claims and figures are made from it alone. A
text is empty if there is none, and a number is NaN. The columns:

- the cell, by its key, what it shows, and in which unit: 'x100' (scores times 100), 'M' (million parameters), 'ms',
  'times' (speed-up), '%' (change), 'p' (p-values), 'rows', 'steps', 'h' (hours, computed);
- `reported`, its standard deviation, the number of runs behind it (0 if unknown), half a unit of its last digit, and
  how many distillations its runs share, as far as the student tells (`reported_distillations`);
  `reported_by_seed`: of the recorded run whose mean it is, if that was run in the precision of this run;
- `mean`, `std` (sample deviation; none for a single run) and `n` of ours; for a ratio or a change in %, the deviation
  follows from those of the two means. `by_seed`: the score under each seed, such as '1=74.6 2=74.45'. Of a student that
  is distilled on a corpus, `distillations` is their number, and `by_run` has the score of each run, such as
  '1/11=74.6' of distillation seed 1 and fine-tuning seed 11. Several distillations are what `n` counts, and `by_seed`
  has the mean of each: their fine-tunings tell nothing of other distillations;
- `status` and `reason`: what became of the cell (`study/reasons.py`). `note`: what a reader of the value must know.
  `text`: our value as the paper would report it, in a cell that holds a setting. `differs`: in what the model that is
  run is not what the row reports. `dev`: our score on dev, in a cell that only a test server can score;
- `low` and `high`: the 95 % interval of ours minus reported; `p`: of the test that both are equal; `p_holm`: after
  Holm's correction over the table; `p_equivalence`: of the tests that they differ by the margin or more; `verdict`
  (`judgement/verdicts.py`), what it assumes, and `runs_needed`, by which equal means would be shown to agree;
- `recorded`: the mean of a recorded run of ours at this scale, with its deviation; it never counts as reported;
- `best_of`: what is compared, if the reported number is the best of a grid on dev. If `mean` is the best of our grid,
  `best_point` is its point, and `rerun` the mean of that point trained again, on which claims are judged, with its
  deviation and number of runs; `by_seed` is then of `rerun`.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retort import checksums
from retort.atomic import replacing_file
from retort.errors import RetortError
from retort.job.context import this_code
from retort.study.reasons import AT_SCALE, Status, sentence
from retort.study.study import Study

if TYPE_CHECKING:  # pandas takes half a second to import: planning imports this module and never reads a frame
    from pandas import DataFrame

AGAIN = checksums.REMEDY
PLACE = "results/tables/*/*.csv"  # */*: the paper / its table or figure
INCOMPLETE = "the row is incomplete"  # reason of a mean or change without a value because one of its cells has none

KEY = ["row", "column"]  # of a cell within its table; everywhere with 'paper' and 'table' before it
TEXT, COUNT, NUMBER = "", 0, float("nan")  # what a column holds where nothing is known
COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("paper", "table", "row", "column", "student", "task", "metric", "unit"), TEXT),
    **dict.fromkeys(("reported", "reported_std", "mean", "std"), NUMBER),
    "n": COUNT, "status": Status.OK.value, **dict.fromkeys(("reason", "scale", "note", "text"), TEXT),
    "reported_n": COUNT, **dict.fromkeys(("reported_half", "low", "high", "p", "p_holm", "p_equivalence"), NUMBER),
    **dict.fromkeys(("verdict", "assumes", "runs_needed"), TEXT),
    **dict.fromkeys(("dev", "recorded", "recorded_std"), NUMBER),
    **dict.fromkeys(("differs", "best_of", "best_point"), TEXT),
    **dict.fromkeys(("rerun", "rerun_std"), NUMBER), "rerun_n": COUNT,
    **dict.fromkeys(("by_seed", "reported_by_seed"), TEXT),
    **dict.fromkeys(("distillations", "reported_distillations"), COUNT), "by_run": TEXT,
}  # fmt: skip
TEXTS = [name for name, unknown in COLUMNS.items() if isinstance(unknown, str)]
NUMBERS = [name for name, unknown in COLUMNS.items() if isinstance(unknown, float)]
COUNTS = [name for name, unknown in COLUMNS.items() if isinstance(unknown, int)]
TYPES: dict[Any, list[str]] = {"object": TEXTS, "float64": NUMBERS, "int64": COUNTS}


class Line(namedtuple("_Line", COLUMNS, defaults=[None if name in NUMBERS else COLUMNS[name] for name in COLUMNS])):  # type: ignore[misc]
    """A line of a frame, in which a number that is not known is None."""

    __slots__ = ()
    status: str
    reason: str

    @property
    def state(self) -> str:
        """The status and its reason as a sentence."""
        return sentence(Status(self.status), self.reason)


def frame_of(cells: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Return the frame of an exhibit from some columns of each cell; the other columns say that nothing is known."""
    lines = list(cells)
    return _frame({name: [line.get(name, unknown) for line in lines] for name, unknown in COLUMNS.items()})


def _frame(values: Mapping[str, Iterable[Any]]) -> DataFrame:
    """Return the frame with these values in each column."""
    import pandas as pd

    parts = [pd.DataFrame({name: values[name] for name in names}, dtype=of) for of, names in TYPES.items()]
    return pd.concat(parts, axis="columns")[list(COLUMNS)]


def lines_of(frame: DataFrame) -> Iterator[Any]:
    """Yield each line of a frame as a named tuple; a number that is not known is None."""
    columns = {name: values.tolist() for name, values in frame.items()}
    for name in NUMBERS:
        columns[name] = [None if math.isnan(number) else number for number in columns[name]]
    yield from itertools.starmap(Line, zip(*(columns[name] for name in COLUMNS), strict=True))


def concatenated(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the lines of several tables and figures as one frame."""
    import pandas as pd

    return pd.concat([frame_of(()), *frames.values()], ignore_index=True)


def changed(frame: DataFrame, **columns: Any) -> DataFrame:
    """Return a frame with other values in some columns, which keep their types."""
    return frame.assign(**columns).astype(frame.dtypes)


def with_lines(frame: DataFrame, changed: DataFrame) -> DataFrame:
    """Return a frame in which some lines, told by their index, are replaced."""
    import pandas as pd

    return pd.concat([frame.drop(changed.index), changed]).sort_index()


def joined(*texts: str) -> str:
    """Return the texts that are not empty, with '; ' between them."""
    return "; ".join(filter(None, texts))


def seed_text(by_seed: Mapping[int, float]) -> str:
    """Return scores by seed as a frame holds them."""
    return " ".join(f"{seed}={score:.10g}" for seed, score in sorted(by_seed.items()))


def run_text(by_run: Mapping[tuple[int, int], float]) -> str:
    """Return scores by distillation seed and fine-tuning seed as a frame holds them."""
    return " ".join(f"{first}/{seed}={score:.10g}" for (first, seed), score in sorted(by_run.items()))


def scores_by_seed(text: str) -> dict[int, float]:
    """Return seed -> score: the inverse of `seed_text`."""
    pairs = (part.partition("=") for part in text.split())
    return {int(seed): float(score) for seed, _, score in pairs}


def scores_by_run(text: str) -> dict[tuple[int, int], float]:
    """Return (distillation seed, fine-tuning seed) -> score: the inverse of `run_text`."""
    pairs = (part.partition("=") for part in text.split())
    return {(int(run.partition("/")[0]), int(run.partition("/")[2])): float(score) for run, _, score in pairs}


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula


def escape_formulas(texts: Iterable[str]) -> list[str]:
    """Put an apostrophe before each text that a spreadsheet would run as a formula."""
    return [f"'{text}" if text.startswith((*FORMULA_STARTS, "'")) else text for text in texts]


def write(path: Path | str, frame: DataFrame) -> None:
    """Write a frame as CSV, atomically, with a checksum next to it; the same lines give the same bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    escaped = frame.assign(**{name: escape_formulas(frame[name]) for name in TEXTS})
    with replacing_file(path) as part:
        escaped.to_csv(part, columns=list(COLUMNS), index=False, float_format="%.10g", lineterminator="\n")
    checksums.take(path, "tidy", this_code(), (), {})  # the job will write it again, with its parents


def read(path: Path | str) -> DataFrame:
    """Read the frame of an exhibit.

    Raises:
        RetortError: the file was changed, has other columns, an unknown status or a text in place of a number, or holds
            another table or figure than its path says.
    """
    import pandas as pd

    path = Path(path)
    if checksums.check(path, thorough=True) is None:
        raise RetortError(f"{path} has no checksum next to it", AGAIN)
    columns = pd.read_csv(path, dtype=object, keep_default_na=False, encoding="utf-8").to_dict("list")
    if list(columns) != list(COLUMNS):
        raise RetortError(f"{path} is not the CSV of a table or figure", AGAIN)
    places = sorted({*zip(columns["paper"], columns["table"], strict=True)} - {(path.parent.name, path.stem)})
    if places and path.match(PLACE):
        raise RetortError(f"{path} holds {places[0][1]} of '{places[0][0]}'", AGAIN)
    try:
        numbers = {name: [float(text or "nan") for text in columns[name]] for name in NUMBERS}
        counts = {name: list(map(int, columns[name])) for name in COUNTS}
        columns["status"] = [Status(status).value for status in columns["status"]]
    except ValueError as error:
        raise RetortError(f"{path}: {error}", AGAIN) from None
    texts = {name: [text.removeprefix("'") for text in columns[name]] for name in TEXTS}
    return _frame({**texts, **numbers, **counts})


def prepare_ahead() -> None:
    """Read and write a frame without lines, for forks of this process: pandas then imports what it needs."""
    import pandas as pd

    pd.read_csv(io.StringIO(frame_of(()).to_csv(index=False)), dtype=object).to_dict("list")


# --- what is not judged: numbers of other models than reported, and those of a rehearsal, which also get a mark

MARK = "rehearsed: a miniature on made data, which says nothing about the reported number"
NO_JUDGEMENT = f"{AT_SCALE}: the numbers are rehearsed"


def withhold_verdicts(study: Study, paper: str, frame: DataFrame) -> DataFrame:
    """Remove the verdicts from a frame if the scale is not judged on this paper; mark the numbers of a rehearsal."""
    if study.judges(paper):
        return frame
    marked = (frame["mean"].notna() | frame["dev"].notna()) & (not study.scale.claims)
    return changed(
        frame, low=NUMBER, high=NUMBER, p=NUMBER, p_holm=NUMBER, p_equivalence=NUMBER, verdict="", assumes="",
        runs_needed="", note=frame["note"].mask(marked, [joined(MARK, note) for note in frame["note"]]),
    )  # fmt: skip


def for_claims(study: Study, frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Return the frames on which claims are judged; without numbers at a scale that judges no claims.

    In the place of a best of a grid stands the score of its point trained again, so that all rows are compared by such.
    """
    change = trained_again if study.scale.claims else _without_numbers
    return {name: change(frame) for name, frame in frames.items()}


def trained_again(frame: DataFrame) -> DataFrame:
    """Return a frame in which the score of a point that was trained again stands alone, without the best of a grid."""
    again = frame["rerun"].notna()
    of = {"mean": "rerun", "std": "rerun_std", "n": "rerun_n"}
    values = {name: frame[name].mask(again, frame[other]) for name, other in of.items()}
    nothing = {"rerun": NUMBER, "rerun_std": NUMBER, "rerun_n": COUNT, "best_point": TEXT}
    return changed(frame, **values, **nothing, best_of=frame["best_of"].mask(again, TEXT))


def _without_numbers(frame: DataFrame) -> DataFrame:
    nothing = {"mean": NUMBER, "std": NUMBER, "dev": NUMBER}
    return changed(frame, **nothing, status=Status.NOT_RUN.value, reason=NO_JUDGEMENT)
