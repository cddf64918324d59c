"""The specs of made data: what is made from a seed in place of a source (rows, texts, a pre-trained model)."""

from __future__ import annotations

from pydantic import Field

from retort.specs.base import Name, Options, Spec, Text
from retort.specs.model import Architecture
from retort.specs.source import Relative
from retort.specs.task_files import Columns


class MadeRows(Spec):
    """A file of rows in its original format; their labels follow from their words, so that they can be learnt.

    Args:
        file: its path in the folder of the source.
        format: its format.
        options: options of the format.
        columns: what a row needs -> the column of the file, or its number from 1.
        task_type: the task type, which decides what a row is.
        labels: the labels as the file spells them; empty where they are not classes.
        bounds: the least and the greatest score of a regression.
        labelled: whether the rows have labels.
        language: of the texts.
        count: how many rows there are.
        long: tokens of a long context, one in every six; the others have a quarter of them.
    """

    file: Relative
    format: Name
    options: Options = {}
    columns: Columns
    task_type: Name
    labels: list[Text] = []
    bounds: tuple[float, float] | None = None
    labelled: bool = True
    language: Text = "en"
    count: int = Field(gt=0)
    long: int = Field(default=0, ge=0)


class MadeTexts(Spec):
    """A file of documents in its original format.

    Args:
        file: its path in the folder of the source.
        format: a text format.
        language: of the documents.
        documents: how many there are.
    """

    file: Relative
    format: Name
    language: Text
    documents: int = Field(gt=0)


class MadeModel(Spec):
    """A model with random weights: config.json, model.safetensors and, if it has its own, tokenizer.json.

    Args:
        family: its family, as transformers names it.
        architecture: its sizes.
        vocabulary: tokens of its vocabulary.
        positions: the longest text that it takes, in tokens.
        masked_lm: whether the head of its pre-training is among the weights.
        tokenizer: whether the tokenizer is among the files.
    """

    family: Text
    architecture: Architecture
    vocabulary: int
    positions: int
    masked_lm: bool
    tokenizer: bool


class Made(Spec):
    """All that is made for a source: files of rows, files of texts, a model."""

    seed: int
    rows: list[MadeRows] = []
    texts: list[MadeTexts] = []
    model: MadeModel | None = None
    version: int = Field(default=1, description="raised when the same settings would make other files")


class MadeSource(Spec):
    """A source of a study in miniature; no YAML file describes it: it follows from what reads the source."""

    title: Text
    made: Made
    licence: Text = "made up"

    @property
    def fetched(self) -> Made:
        """What is made."""
        return self.made

    def place(self, config: object) -> str:
        """Return where the files come from, in words."""
        return f"made from seed {self.made.seed}"

    def location(self, config: object) -> str:
        """Return where the files are: always 'made', in the formats of local folders."""
        return "made"

    def in_use(self, config: object) -> MadeSource:
        """Return the source that files are taken from: always this one."""
        return self
