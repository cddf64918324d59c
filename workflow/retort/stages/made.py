"""The stage that makes a source from a seed."""

from __future__ import annotations

from pathlib import Path

from retort.atomic import write_json
from retort.engine.job import Job
from retort.made.files import write_rows, write_texts
from retort.made.models import write_model
from retort.settings import Made


def make_source(job: Job, settings: Made, output: str) -> None:
    """Make the files of a source in the folder `output`, and write the settings to a file beside it."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for rows in settings.rows:
        write_rows(folder, rows, settings.seed)
    for texts in settings.texts:
        write_texts(folder, texts, settings.seed)
    if settings.model:
        write_model(folder, settings.model, settings.seed)
    write_json(f"{output}.json", settings.model_dump(mode="json"))
    job.say(f"{len(settings.rows) + len(settings.texts)} files" + ", a model" * (settings.model is not None))
