"""Take what another process has made of a job, rather than make it once more.

Slurm may have two jobs for one of Snakemake's: sbatch failed though Slurm took the job, or the run was killed and begun
again. The second one runs `python -m retort.job.made` first, since its Snakemake deletes outputs that are there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from retort import checksums
from retort.job import planned_run
from retort.job.attempts import LOCKS, slug_of
from retort.job.locks import AtWork, hold_claim, in_turn


def outputs_are_made(outputs: Sequence[str]) -> bool:
    """Return whether all outputs of a job are whole, made since this run began, by its plan and from what is there."""
    began = planned_run.began()
    return bool(outputs) and began is not None and all(_output_is_made(Path(output), began) for output in outputs)


def _output_is_made(output: Path, began: float) -> bool:
    """Return whether an output is whole, and was made after a time, as `outputs_are_made` says."""
    taken = checksums.whole(output)
    if taken is None or taken.plan != planned_run.plan() or checksums.place_of(output).stat().st_mtime < began:
        return False
    parents = {path: checksums.whole(Path(path)) for path in taken.parents}
    as_read = all((now := parents[path]) and now.digest == read.sha256 for path, read in taken.parents.items())
    return as_read and not any(checksums.differences(output, taken, thorough=False))


def main(job: str, log: str, *outputs: str) -> bool:
    """Wait until no other process runs a job; return whether it has made all.

    Args:
        job: the name of the job (`planned_run.name_of`).
        log: its log.
        outputs: what it makes.
    """

    def tell(other: AtWork) -> None:
        print(f"{other.message}; this job waits for its end", file=sys.stderr, flush=True)

    def look() -> bool:
        with hold_claim(LOCKS / slug_of(log), slug_of(log)):
            return outputs_are_made(outputs)

    return planned_run.is_latest(job) and in_turn(look, tell)  # else its Snakemake says why it ends


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
