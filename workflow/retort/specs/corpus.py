"""A corpus: texts for task-agnostic distillation, cleaned, packed into blocks of equal length, mixed by shares."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from retort.specs import catalogue
from retort.specs.base import Distinct, Flag, Label, Name, Options, Real, Relative, SourceName, Spec, Version, Whole
from retort.specs.source import FirstRows

Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}([_-][A-Za-z]+)*$")]


class Masking(Spec):
    """Dynamic masking for masked language modelling, as in BERT: 80 % [MASK], 10 % random, 10 % unchanged.

    Args:
        probability: fraction of the tokens that are predicted.
    """

    probability: Real = Field(default=0.15, gt=0, lt=1)


class Cleaning(Spec):
    """Which documents are dropped, and counted.

    Unicode, control characters and spaces are normalised in every text.

    Args:
        minimum: characters; shorter documents are dropped.
        drop_duplicates: of equal documents of the component, the first is kept.
    """

    minimum: Whole = Field(default=0, ge=0)
    drop_duplicates: Flag = False


class Component(Spec):
    """One component of a corpus: texts of one source in one language.

    Args:
        source: an entry of workflow/sources.
        files: patterns inside the source; read in the order of names.
        format: how the texts stand in the files.
        options: options of the format.
        language: ISO code, as the source has it.
        sample: fraction of the documents that is read, drawn by a seed.
        share: of the corpus's blocks.
        cleaning: which documents are dropped.
    """

    source: SourceName
    files: Distinct[Relative] = Field(min_length=1)
    format: Annotated[Name, catalogue.registered("text format", catalogue.text_formats)]
    options: Options = {}
    language: Language = "en"
    sample: Real = Field(default=1.0, gt=0, le=1)
    share: Real | None = Field(default=None, gt=0, le=1)
    cleaning: Cleaning = Cleaning()

    @model_validator(mode="after")
    def _options(self) -> Component:
        catalogue.text_formats()[self.format].check(self.options)
        return self


CHARACTERS = 12  # fetched for each token: English has four or five, and cleaning drops documents


class CorpusJobs(Spec):
    """How the work is divided into jobs; this changes no block and is not in the settings.

    Args:
        parts: jobs that clean and tokenise the texts.
    """

    parts: Whole = Field(default=1, ge=1, le=10_000)


class Corpus(Spec):
    """One YAML file of workflow/corpora.

    How many blocks each component gives:

    - with shares and `blocks`: its `share` of `blocks`;
    - with shares and without `blocks`: its `share` of as many blocks as the shares allow;
    - without shares and with `blocks`: in proportion to the size of its files raised to the power `smoothing`;
    - with neither: all of its blocks.

    Args:
        title: what it is, in one line.
        components: the texts that it is mixed of.
        packing: how documents fill blocks.
        block: tokens a packed block holds.
        blocks: in the whole corpus; of Parquet files on the hub, only a part is fetched then.
        smoothing: 0.3 in Conneau et al. (2020), section 3.1.
        masking: for masked language modelling.
        version: raised when the same settings would give other numbers.
        jobs: how the work is divided.
    """

    title: Label
    components: list[Component] = Field(min_length=1)
    packing: Annotated[Name, catalogue.registered("packing", catalogue.packers)] = "continuous"
    block: Whole = Field(ge=8, le=512)
    blocks: Whole | None = Field(default=None, ge=1, le=10_000_000_000)
    smoothing: Real = Field(default=1.0, gt=0, le=1)
    masking: Masking = Masking()
    version: Version
    jobs: CorpusJobs = CorpusJobs()

    def _wrong(self) -> Iterator[str]:
        shares = [component.share for component in self.components if component.share is not None]
        if shares and len(shares) < len(self.components):
            yield f"{len(shares)} of {len(self.components)} components give a share; give all of them or none"
        if shares and abs(sum(shares) - 1) > 1e-6:
            yield f"the shares add up to {sum(shares):g}, not to 1"
        if self.smoothing != 1 and (shares or self.blocks is None):
            yield "'smoothing' makes shares of file sizes: it needs 'blocks', and components without a share"

    @property
    def sources(self) -> set[str]:
        """The sources of its components."""
        return {component.source for component in self.components}

    def first_rows(self, source: str) -> FirstRows | None:
        """Return the first rows that the corpus needs of a source; None for all rows.

        A limit is known only if the corpus gives `blocks`, and one component reads the source, with a share of its own
        (or as the only component) and one pattern of Parquet files. Other shares depend on the sizes of whole files.
        """
        components = [component for component in self.components if component.source == source]
        share = 1.0 if len(self.components) == 1 else components[0].share
        if not (self.blocks and share and len(components) == 1 and len(components[0].files) == 1):
            return None
        if components[0].format != "parquet":
            return None
        return FirstRows(
            files=components[0].files,
            column=str(components[0].options.get("column", "text")),
            characters=math.ceil(self.blocks * share * self.block * CHARACTERS / components[0].sample),
        )
