"""The configuration, config.yaml: papers, scale, precision, and how jobs run."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    StringConstraints,
    field_validator,
    model_validator,
)

from retort.errors import RetortError, StudyError
from retort.machine import cpu_info, default_workers
from retort.specs import loading
from retort.specs.base import Distinct, Flag, Name, Real, Spec, Text, Whole, one_line, path_of_user
from retort.specs.loading import Problems
from retort.specs.scale import Scale
from retort.specs.yaml_reader import read_yaml

ROOT = Path(__file__).resolve().parents[3]
Contact = Annotated[str, StringConstraints(pattern=r"^(https://\S+|mailto:\S+@\S+)?$"), AfterValidator(one_line)]
BF16_FLAGS = {"avx512_bf16", "amx_bf16"}


class RunSources(Spec):
    """What a run decided about its sources when it began, so that all of its jobs agree.

    Args:
        folders: folder of data_dir or models_dir -> is it there?
        precision: that of its trainings, where the configuration leaves it to the machine.
        commits: source -> its commit, where its file names none.
        missing: what cannot be had, such as 'sources/cc100' or 'tasks/xnli' -> why.
        failed: results that jobs of this run failed to make -> the job's log, and why.
    """

    folders: dict[str, bool] = {}
    precision: str = ""
    commits: dict[str, str] = {}
    missing: dict[str, str] = {}
    failed: dict[str, str] = {}

    @property
    def failures(self) -> list[str]:
        """Why jobs failed, each once: log and last line."""
        return sorted(set(self.failed.values()))


class Licences(Spec):
    """What the cards of models say of licences; a run reads it once for all of its jobs.

    Args:
        sources: source -> its title, and its licence as it names it.
        needed: student, teacher or 'tasks/<task>' -> the sources that it is made from.
    """

    sources: dict[str, tuple[str, str]] = {}
    needed: dict[str, list[str]] = {}

    @classmethod
    def in_run(cls, config: Mapping[str, object]) -> Licences:
        """Return what a run hands to its jobs in their configuration; nothing outside of a run."""
        return cls.model_validate(config.get("licences", {}))

    def of(self, name: str, task: str = "") -> dict[str, str]:
        """Return title -> licence of each source of a student or teacher, with those of a task if given."""
        needed = {*self.needed.get(name, []), *self.needed.get(f"tasks/{task}", [])}
        return dict(said for source, said in self.sources.items() if source in needed)


class Chosen(Spec):
    """What a budget runs of a student or teacher: its tasks, and under how many seeds.

    Args:
        tasks: entries of workflow/tasks.
        seeds: the first of its protocol, and the next numbers after these; of each distillation, if it has one.
        distillations: of a student that is distilled on a corpus.
    """

    tasks: Distinct[Name] = Field(min_length=1)
    seeds: Whole = Field(ge=1, le=100)
    distillations: Whole = Field(default=1, ge=1, le=100)


class Budget(Spec):
    """What runs for some hours; nothing else is trained.

    Args:
        hours: on one device.
        runs: student or teacher -> what is run of it.
        left_out: student or teacher -> the hours that the tables would need of it next to the others.
    """

    hours: Real = Field(gt=0)
    runs: dict[Name, Chosen] = {}
    left_out: dict[Name, Real] = {}


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


Folders = Annotated[Distinct[Text], BeforeValidator(_listed, json_schema_input_type=Text | list[Text])]
# keys of the configuration that a run sets for its jobs
SET_BY_RUN = ("run_sources", "companions", "activations", "seeds_divided", "licences")


class Config(Spec):
    """The keys of config.yaml; unknown keys are rejected.

    Args:
        papers: null: those that the scale is for; []: none is run, all are shown as recorded.
        scale: an entry of workflow/scales.
        device: auto: GPUs at the scales that are for them; cpu: none, whatever the scale.
        precision: auto: bfloat16 on a GPU and on CPUs that have instructions for it, else float32; tf32: float32, but
            matrix products of a GPU keep 10 bits of each factor.
        study: the folders with papers/, tasks/, models/, ..., which are read together.
        keep_weights: keep the weights of every fine-tuned student.
        checkpoint_seconds: time between two checkpoints of a training.
        dataloader_num_workers: processes that prepare batches next to a training; null: 2 next to a GPU, else 0; at
            most 64, because each takes memory, and a few keep up with a GPU.
        students_together: students of one teacher that a job distils side by side, at most; 1: each in a job of its
            own.
        hours_together: hours on one device that a job of students side by side may be predicted to take; null: any.
        hours_of_seeds: hours on one device that all seeds of a student on a task may be predicted to take; if they take
            longer, several jobs share them; null: any.
        data_dir: data sets in their original formats; a folder that is there wins over the hub.
        models_dir: a folder a model; a folder that is there wins over the hub.
        sample: tasks whose data may have fewer rows than they expect, true for all; every score says so.
        budget: what runs of the tables, as `retort budget` writes it; null: everything.
        cluster: a file that says what a job can have, such as slurm/partitions.yaml; null: anything.
        micro_batch: rows of a batch that go through a device at once, where a schedule does not say it; null: all.
        contact: where a reader objects to a page, https://... or mailto:...; each page has a link there.
        run_sources: the workflow hands this to its jobs; not for you.
        companions: job -> the students that it distils side by side; the workflow hands it to its jobs; not for you.
        activations: folder of stored activations -> the students that read it; the workflow hands it to its jobs; not
            for you.
        seeds_divided: '<student>/<task>' -> the seeds of each of its jobs; the workflow hands it to its jobs; not for
            you.
        licences: what the cards of models say of licences; the workflow hands this to its jobs; not for you.
    """

    papers: Distinct[Name] | None = None
    scale: Name = "pocket"
    device: Literal["auto", "cpu"] = "auto"
    precision: Literal["auto", "float32", "tf32", "bfloat16"] = "auto"
    study: Folders = Field(default=["workflow"], min_length=1)
    keep_weights: Flag = False
    checkpoint_seconds: Real = Field(default=20, gt=0, le=1_000_000)
    dataloader_num_workers: Whole | None = Field(default=None, ge=0, le=64)
    students_together: Whole = Field(default=4, ge=1, le=64)
    hours_together: Real | None = Field(default=None, gt=0)
    hours_of_seeds: Real | None = Field(default=None, gt=0)
    data_dir: str | None = None
    models_dir: str | None = None
    sample: Flag | Distinct[Name] = False
    budget: Budget | None = None
    cluster: str | None = None
    micro_batch: Whole | None = Field(default=None, ge=1)
    contact: Contact = ""
    run_sources: RunSources = RunSources()
    companions: dict[str, Distinct[Name]] | None = None
    activations: dict[str, Distinct[Name]] | None = None
    seeds_divided: dict[str, list[str]] | None = None
    licences: Licences = Licences()
    _file: str = PrivateAttr(default="config.yaml")
    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _folders: dict[str, bool] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_the_command_line(cls, content: Any) -> Any:
        """Read 'true', 'false' and 'null' as YAML does: `snakemake --config keep_weights=true` hands on a text."""
        words = {"true": True, "false": False, "null": None}
        given = content.items() if isinstance(content, dict) else ()
        return {key: words.get(value, value) if isinstance(value, str) else value for key, value in given} or content

    @field_validator("data_dir", "models_dir")
    @classmethod
    def _there(cls, path: str | None) -> str | None:
        if path is not None and (not path or not path_of_user(path).is_dir()):
            shown = path if path.strip() else repr(path)
            raise ValueError(f"there is no folder {shown}; null takes data and models from the hub")
        return path

    @field_validator("cluster")
    @classmethod
    def _is_file(cls, path: str | None) -> str | None:
        if path is not None and not path_of_user(path).is_file():
            raise ValueError(f"there is no file {path!r}; null limits nothing")
        return path and str(path_of_user(path))

    def _wrong(self) -> Iterator[str]:
        if self.precision == "tf32" and not self.gpus:
            where = "device is 'cpu'" if self.device == "cpu" else f"scale '{self.scale}' trains on CPUs"
            yield f"precision: tf32 is for GPUs, and {where}; write float32"

    @property
    def file(self) -> str:
        """The name of the file that holds the configuration, for messages."""
        return self._file

    def origin(self, key: str) -> str:
        """Return where a key was given: config.yaml, another file, or an option of the command line."""
        return self._origins.get(key, self._file)

    @property
    def study_folders(self) -> list[Path]:
        """The study's folders; a relative path starts at the root of the repository."""
        return [path_of_user(folder, ROOT) for folder in self.study]

    def files(self, pattern: str) -> list[Path]:
        """Return what matches a pattern in the study's folders, folder by folder."""
        return [path for folder in self.study_folders for path in sorted(folder.glob(pattern))]

    @property
    def scales(self) -> list[Path]:
        """The folders of the scales: those of the study or, where it has none, of the repository."""
        return self.files("scales") or [ROOT / "workflow" / "scales"]

    def may_be_sample(self, task: str) -> bool:
        """Return whether the data of a task may have fewer rows than the task expects."""
        return self.sample is True or task in self.sampled

    @property
    def sampled(self) -> list[str]:
        """The tasks that `sample` names; empty where it says true or false for all of them."""
        return [] if isinstance(self.sample, bool) else self.sample

    def holds(self, folder: Path) -> bool:
        """Return whether a folder of the user's data exists: as the run decided, else as it was at the first call."""
        decided = self.run_sources.folders.get(str(folder))
        return self._folders.setdefault(str(folder), folder.is_dir() if decided is None else decided)

    @property
    def folders(self) -> dict[str, bool]:
        """Folder -> whether it exists, for the folders that `holds` was asked for."""
        return dict(self._folders)

    @property
    def gpus(self) -> int:
        """The number of GPUs that a training job asks for: as the scale says, unless the device is the CPU."""
        paths = [folder / f"{self.scale}.yaml" for folder in self.scales]
        return 0 if self.device == "cpu" else _gpus_at(next(filter(Path.is_file, paths), paths[0]))

    def workers(self, gpu: bool) -> int:
        """Return the number of processes that prepare batches next to a training on a GPU, or on a CPU."""
        return default_workers(gpu) if self.dataloader_num_workers is None else self.dataloader_num_workers

    def resolved_precision(self) -> str:
        """Return the precision of training: 'bfloat16', 'tf32' or 'float32'.

        With 'auto' this is 'bfloat16' on GPUs, and on a CPU that has bfloat16 instructions.
        """
        if self.precision != "auto" or self.run_sources.precision:
            return self.run_sources.precision or self.precision
        if self.gpus:
            return "bfloat16"
        return "bfloat16" if set(cpu_info("flags").split()) & BF16_FLAGS else "float32"


@functools.cache
def _gpus_at(path: Path) -> int:
    """Return the GPUs that a training asks for at the scale of a file; what is wrong with the file is told later."""
    scale = loading.one(path, Scale, Problems(ROOT))
    return scale.gpus if scale else 1


def read_config(
    content: dict[str, object], file: str = "config.yaml", origins: Mapping[str, str] | None = None
) -> Config:
    """Check the content of a configuration and return the configuration.

    Args:
        content: the keys and values.
        file: the name of the file that holds them, for messages.
        origins: key -> where it was given, for keys that come from elsewhere, such as another file.

    Raises:
        StudyError: a key is unknown or a value is out of range.
    """
    problems = Problems(ROOT)
    config: Config | None = problems.validate(file, "", Config, content)
    if config is None:
        raise StudyError([_with_origin(line, file, origins or {}) for line in problems.lines])
    config._file, config._origins = file, dict(origins or {})
    return config


def config_at(content: Mapping[str, object], paper: str, scale: str) -> Config:
    """Return the configuration of one paper at a scale; what a run of another scale has decided does not count."""
    asked = {key: value for key, value in content.items() if key not in SET_BY_RUN}
    return read_config({**asked, "papers": [paper], "scale": scale})


def _with_origin(line: str, file: str, origins: Mapping[str, str]) -> str:
    """Return a message about a key of the configuration, beginning with where the key was given."""
    what = line.removeprefix(f"{file}: ")
    return f"{origins.get(re.split('[.:]', what)[0], file)}: {what}"


def content_of(path: Path) -> Any:
    """Return the content of a configuration's file; an empty one holds no keys.

    Raises:
        RetortError: the file cannot be read; the message begins with its name.
    """
    try:
        content = read_yaml(path)
    except RetortError as error:
        raise RetortError(f"{path.name}: {error}") from error
    return {} if content is None else content


def origins_of(files: list[str], given: Mapping[str, Any]) -> dict[str, str]:
    """Return key of the configuration -> the file or option that sets it, after a strict look at each file.

    Snakemake keeps the last of two equal keys and reads 010 as 8.

    Args:
        files: the files of the configuration, the last wins.
        given: the keys that the command line sets.

    Raises:
        RetortError: a file cannot be read; the message begins with its name.
    """
    origins = dict[str, str]()
    for path in filter(Path.exists, map(Path, files)):
        content = content_of(path)
        origins |= dict.fromkeys(content if isinstance(content, dict) else (), path.name)
    return origins | dict.fromkeys(given, "--config")
