"""The settings of jobs, from the plan to a score file: one frozen, typed model for each type of job.

The plan resolves a study into these models. Their JSON values are the params of the Snakemake rules (a changed value
re-runs the job) and stand in every result. They are read without torch.
"""

from retort.settings.base import Settings
from retort.settings.data import (
    CorpusSettings,
    FetchSettings,
    FolderContent,
    MadeContent,
    ModelSettings,
    SourceSettings,
    SplitFile,
    SplitSettings,
    TaskSettings,
    TokenizedCorpusSettings,
    TokenizedTaskSettings,
)
from retort.settings.jobs import (
    ActivationSettings,
    CorpusDistillationSettings,
    DistillationSettings,
    FinetuneSettings,
    GridSettings,
    PredictionSettings,
    ProfileSettings,
    PublishedTeacherSettings,
    ScoreSettings,
    SubmissionSettings,
    SubmittedTask,
    TaskDistillationSettings,
    TeacherHeadSettings,
    TeacherSettings,
    TimingSettings,
    UnreadTeacherSettings,
)
from retort.settings.training import InitialisationSettings, PointSettings, StageSettings, TermSettings
from retort.specs.made import Made

__all__ = [
    "ActivationSettings",
    "CorpusDistillationSettings",
    "CorpusSettings",
    "DistillationSettings",
    "FetchSettings",
    "FinetuneSettings",
    "FolderContent",
    "GridSettings",
    "InitialisationSettings",
    "Made",
    "MadeContent",
    "ModelSettings",
    "PointSettings",
    "PredictionSettings",
    "ProfileSettings",
    "PublishedTeacherSettings",
    "ScoreSettings",
    "Settings",
    "SourceSettings",
    "SplitFile",
    "SplitSettings",
    "StageSettings",
    "SubmissionSettings",
    "SubmittedTask",
    "TaskDistillationSettings",
    "TaskSettings",
    "TeacherHeadSettings",
    "TeacherSettings",
    "TermSettings",
    "TimingSettings",
    "TokenizedCorpusSettings",
    "TokenizedTaskSettings",
    "UnreadTeacherSettings",
]
