"""The specs of a pre-trained model, and of made data: rows, texts and models that a seed makes in place of a source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo

from retort.errors import RetortError, first_line
from retort.registry import unknown_name
from retort.specs.base import (
    FieldsOf,
    Flag,
    Label,
    ModelName,
    Name,
    Names,
    Options,
    Real,
    Relative,
    Spec,
    Text,
    Version,
    Whole,
    left_out,
)
from retort.specs.source import InOnePlace, NamedSource
from retort.specs.task_files import Columns


class Architecture(Spec):
    """The shape of an encoder, as papers write it: layers, heads, hidden, intermediate and sometimes embedding.

    Args:
        layers: transformer layers.
        heads: attention heads of a layer.
        hidden: width of the hidden states.
        intermediate: width of the feed-forward networks.
        embedding: width of the token embeddings, where it is smaller than hidden; a projection stands between.
    """

    layers: Whole = Field(gt=0, le=48)
    heads: Whole = Field(gt=0, le=1024)
    hidden: Whole = Field(gt=0, le=65_536)
    intermediate: Whole = Field(gt=0, le=1_000_000)
    embedding: Whole | None = left_out(gt=0)

    def _wrong(self) -> Iterator[str]:
        if self.hidden % self.heads:
            yield f"hidden ({self.hidden}) is not a multiple of heads ({self.heads})"
        if self.embedding is not None and self.embedding >= self.hidden:
            yield f"embedding ({self.embedding}) is not smaller than hidden ({self.hidden}); leave it out"

    @property
    def weights_after_attention(self) -> int:
        """The weights of a layer's matrices after its attention: the output projection and the two of the FFN."""
        return self.hidden**2 + 2 * self.hidden * self.intermediate

    @property
    def layer_weights(self) -> int:
        """The weights of a layer's matrices: the projections to queries, keys and values, and those after attention."""
        return 3 * self.hidden**2 + self.weights_after_attention

    @property
    def widths(self) -> tuple[int, int, int]:
        """The (hidden, intermediate, embedding) widths; layers can be copied only between models with equal widths."""
        return self.hidden, self.intermediate, self.embedding or self.hidden


class TokensPerWord(Spec):
    """How many tokens a tokenizer makes of a word, from which costs are predicted before texts are read.

    Args:
        value: tokens divided by words, as spaces separate them.
        origin: on which texts it was measured.
    """

    value: Real = Field(gt=0, le=100)
    origin: Text


class Model(Spec):
    """A pre-trained model: one YAML file of workflow/models.

    Args:
        title: what it is, in one line.
        source: an entry of workflow/sources; or the keys of one, if no other file uses it.
        architecture: as in config.json, which is read if the source is your folder.
        vocabulary: tokens in the vocabulary; as the architecture.
        positions: the longest text that it takes, in tokens; as the architecture.
        tokenizer: the model whose tokenizer it has, so that both read the same data; none: its own.
        tokens_per_word: of its tokenizer, on English text.
        masked_lm: its files hold the head of its pre-training, read as it is.
        version: raised when the same settings would give other numbers.
    """

    # a file may leave out what config.json says, see `described`
    model_config = ConfigDict(json_schema_extra={"required": ["title", "source"]})

    title: Label
    source: NamedSource
    architecture: Architecture
    vocabulary: Whole = Field(gt=0, le=10_000_000)
    positions: Whole = Field(default=512, gt=2, le=8192)
    tokenizer: ModelName | None = None
    tokens_per_word: TokensPerWord | None = None
    masked_lm: Flag = False
    version: Version = 1


def with_sizes(given: Any, models: Mapping[str, Model | None]) -> Any:
    """Return an architecture as a file gives it, with the sizes of the model that it names.

    Args:
        given: the sizes; or the name of a model that has them; or the name under 'like', and the sizes that differ.
        models: the models by name; None for one that cannot be read.

    Raises:
        ValueError: it names no model, or one that cannot be read.
    """
    changes = dict(given) if isinstance(given, dict) else {"like": given}
    if "like" not in changes:
        return given
    name = str(changes.pop("like"))
    if name not in models:
        raise ValueError(str(unknown_name("model", name, models)))
    if (model := models[name]) is None:
        raise ValueError(f"the file of model '{name}' cannot be read")
    return {**model.architecture.model_dump(), **changes}


def _of_model(given: Any, info: ValidationInfo) -> Any:
    return with_sizes(given, info.context.entries["models"]) if isinstance(info.context, Names) else given


_NAME = "an entry of workflow/models"
_Like = Annotated[dict[str, Any], FieldsOf(Architecture, ("like", _NAME))]
# the sizes of a student, which may be those of a model
Sizes = Annotated[
    Architecture,
    BeforeValidator(_of_model, json_schema_input_type=Architecture | Annotated[str, Field(description=_NAME)] | _Like),
]


# a size -> its key in config.json: that of most families, and that of DistilBERT
SIZES = {
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "hidden": ("hidden_size", "dim"),
    "intermediate": ("intermediate_size", "hidden_dim"),
    "embedding": ("embedding_size",),  # in ELECTRA's config alone
}
FAMILIES = ("bert", "distilbert", "electra", "roberta", "xlm-roberta")  # as transformers names types of models

POOLED = ("bert", "distilbert")  # families whose models have a pooler below the classifier; DistilBERT is read as BERT


def check_family(name: object) -> None:
    """Raise a `RetortError` if encoders of a family are not read."""
    if name not in FAMILIES:
        raise RetortError(f"no family of encoders is called {name!r}", f"there are: {', '.join(FAMILIES)}")


def first_position(config: Mapping[str, Any]) -> int:
    """Return the position id of a text's first token, which in RoBERTa comes after the id of its padding token.

    Raises:
        ValueError: that is no number.
    """
    if "roberta" not in str(config.get("model_type")):
        return 0
    if not isinstance(pad := config.get("pad_token_id", 1), int):
        raise ValueError(f"pad_token_id is {pad}, and positions begin after it")
    return pad + 1


def parts_of_weights(folder: Path) -> str:
    """Return what to say of a folder that holds the weights in several files; empty if it does not."""
    parts = [path.name for path in sorted(folder.glob("model-*-of-*.safetensors"))]
    joined = "AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER, max_shard_size='99GB') joins them"
    return f", but {len(parts)} parts such as {parts[0]} ({joined})" if parts else ""


def described(config: Mapping[str, Any]) -> dict[str, object]:
    """Return what the content of a config.json says of a model, by the keys of `Model`."""
    found = {size: config[key] for size, keys in SIZES.items() for key in keys if key in config}
    if found.get("embedding") == found.get("hidden"):
        found.pop("embedding", None)
    sizes = {"architecture": found} if found else {}
    longest = config.get("max_position_embeddings")
    positions = {"positions": longest - first_position(config)} if isinstance(longest, int) else {}
    return sizes | positions | ({"vocabulary": config["vocab_size"]} if "vocab_size" in config else {})


def described_in(folder: Path) -> dict[str, Any]:
    """Return what the config.json of a folder says of a model, as `described`; nothing if there is none.

    Raises:
        RetortError: it cannot be read, or is that of a family that is not read.
    """
    path = folder / "config.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if "model_type" in content:
            check_family(content["model_type"])
        return described(content)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise RetortError(f"{path} cannot be read ({first_line(error)})", "it is no config.json of a model") from None


def family_in(folder: Path) -> str:
    """Return the family of the model of a folder whose config.json `described_in` can read; BERT where it says none."""
    return str(json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type", "bert"))


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
    labelled: Flag = True
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
    masked_lm: Flag
    tokenizer: Flag


class Made(Spec):
    """All that is made for a source: files of rows, files of texts, a model.

    Args:
        version: raised when the same settings would make other files.
    """

    seed: int
    rows: list[MadeRows] = []
    texts: list[MadeTexts] = []
    model: MadeModel | None = None
    version: int = 1


class MadeSource(InOnePlace, Spec):
    """A source of a study in miniature; no YAML file describes it: it follows from what reads the source."""

    where: ClassVar[str] = "made"  # in the formats of local folders

    title: Label
    made: Made
    licence: Text = "made up"

    @property
    def fetched(self) -> Made:
        """What is made."""
        return self.made

    def place(self, config: object) -> str:
        """Return where the files come from, in words."""
        return f"made from seed {self.made.seed}"
