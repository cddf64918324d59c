"""Build encoders of transformers: from a folder, whose weights are safetensors alone, or with random weights."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    BertConfig,
    ElectraConfig,
)
from transformers.utils import logging

from retort.batch import Shape
from retort.checksums import remedy_of_model
from retort.data.files import check_content
from retort.errors import RetortError, lines_of
from retort.models import encoders
from retort.models.encoders import (
    ATTENTION,
    DISTILBERT,
    as_bert,
    check_keys,
    check_weights,
    embeddings_of,
    family_of,
    weights_as_bert,
)
from retort.models.weights import is_noted
from retort.specs.model import SIZES as KEYS
from retort.specs.model import Architecture, check_family, first_position, parts_of_weights

logging.set_verbosity_error()
logging.disable_progress_bar()
with contextlib.suppress(ImportError):  # compiles a thousand patterns once, before a job's process is forked
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    get_checkpoint_conversion_mapping("bert")

HEADS: dict[str, Any] = {
    "none": AutoModel,
    "classification": AutoModelForSequenceClassification,
    "masked-lm": AutoModelForMaskedLM,
    "span": AutoModelForQuestionAnswering,
}
SIZES = {size: keys[0] for size, keys in KEYS.items()}
TASK_HEADS = ("classifier", "pre_classifier", "qa_outputs")  # modules that fine-tuning puts on an encoder
FLOATS = ("F64", "F32", "F16", "BF16")  # as safetensors names types
# config keys of the vocabulary and of a layer's computation; all families share them
KEPT = (
    "vocab_size", "type_vocab_size", "pad_token_id", "bos_token_id", "eos_token_id", "hidden_act", "layer_norm_eps",
    "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "initializer_range",
)  # fmt: skip


def load(
    folder: Path | str,
    head: str = "none",
    num_labels: int = 1,
    heads: int | None = None,
    labels: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
) -> torch.nn.Module:
    """Load the model of a folder in float32, with a head; initialise a missing head at random.

    The model may have been fine-tuned before. A head of this kind with as many outputs is kept, whatever its task was;
    any other head of a task, and that of a DistilBERT, is left, and a new one starts.

    Args:
        folder: a folder with model.safetensors and config.json.
        head: a key of HEADS.
        num_labels: number of outputs of a classification or span head.
        heads: number of attention heads, in place of the folder's; no weight depends on it. None keeps the folder's.
        labels: the names of a classification head's outputs; the folder's are put in this order.
        say: called with a line about an old head; None refuses one that would be left, as where nothing is trained.

    Raises:
        RetortError: the safetensors weights are missing, cannot be read, lack some of the encoder's, are those of
            another task, or are NaN or infinite without a note that the training diverged.
    """
    if not (Path(folder) / "model.safetensors").is_file():
        what = f"{folder} holds no model.safetensors{parts_of_weights(Path(folder))}"
        raise RetortError(what, "weights are read as safetensors only")
    check_content(Path(folder) / "model.safetensors")
    overrides: dict[str, object] = {"num_labels": num_labels} if head in ("classification", "span") else {}
    overrides |= {SIZES["heads"]: heads} if heads else {}
    with _reading_weights(folder):
        old = _read_config(folder)
        is_distilbert = old.model_type == DISTILBERT
        model = (_load_distilbert if is_distilbert else _load_pretrained)(folder, head, overrides)
        _check_types(folder)
        held = _task_heads(folder) if head in ("classification", "span") else {}
    if held and (is_distilbert or not held.items() <= _shapes_of(model).items()):
        what = f"the head of an earlier training, with the labels {', '.join(old.id2label.values())}"
        if say is None:
            raise RetortError(f"{folder}/model.safetensors holds {what}", "only a training can begin with a new head")
        say(f"{folder} holds {what}: it is left, and a new one starts")
    elif held and labels:
        encoders.order_outputs(model, labels, say or print)
    elif held and say:
        say(f"{encoders.TRAINED}: it has as many outputs as the task needs, and is kept")
    _check_finite(folder, model)
    if getattr(model.config, "pooler_relu", False):
        add_pooler_relu(model)
    return model


def _shapes_of(model: torch.nn.Module) -> dict[str, list[int]]:
    return {name: list(weight.shape) for name, weight in model.state_dict().items()}


def _task_heads(folder: Path | str) -> dict[str, list[int]]:
    """Return name -> shape of the weights of a task's head in a folder."""
    with safe_open(str(Path(folder) / "model.safetensors"), "pt") as weights:
        names = [name for name in weights.keys() if name.split(".")[0] in TASK_HEADS]  # noqa: SIM118 - not a dictionary
        return {name: list(weights.get_slice(name).get_shape()) for name in names}


def add_pooler_relu(model: Any) -> None:
    """Put a ReLU in the place of dropout between the pooler and a classifier, and note it in the config.

    A head of another type reads no pooler, and stays as it is.

    Raises:
        RetortError: the classifier has no pooler below it.
    """
    if not hasattr(model, "classifier"):
        return
    pooler: Any = encoders.pooler_of(model, "pooler_relu")
    pooler.activation = torch.nn.Sequential(pooler.activation, torch.nn.ReLU())
    model.dropout = torch.nn.Identity()
    model.config.pooler_relu = True  # transformers keeps keys that it does not know, in config.json too


def _load_pretrained(folder: Path | str, head: str, overrides: dict[str, object]) -> Any:
    # local files and safetensors only: nothing is downloaded, and no code of a model repository runs
    model: Any
    model, loading = HEADS[head].from_pretrained(
        str(folder),
        use_safetensors=True,
        dtype=torch.float32,
        attn_implementation=ATTENTION,
        trust_remote_code=False,
        local_files_only=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # those of the encoder are refused below, with their names
        **overrides,
    )
    others = sorted(loading["mismatched_keys"])
    for name, *shapes in others:
        if name.split(".")[0] not in TASK_HEADS:
            held, right = (" x ".join(map(str, shape)) for shape in shapes)
            what = f"{folder}/model.safetensors holds {name} of {held} numbers, not {right}, as config.json says"
            raise RetortError(what, f"take both files from one model, or {remedy_of_model(folder)}")
    _check_complete(folder, model, loading["missing_keys"])
    check_weights(folder, loading["unexpected_keys"], f"{model.base_model_prefix}.")
    if others:  # RoBERTa's head has a layer of any task's size below its outputs: all of the old head is left
        encoder = model.base_model
        model = HEADS[head].from_config(model.config, dtype=torch.float32, attn_implementation=ATTENTION).eval()
        model.base_model.load_state_dict(encoder.state_dict())
    return model


def _load_distilbert(folder: Path | str, head: str, overrides: dict[str, object]) -> torch.nn.Module:
    """Load a DistilBERT as a BERT with the same weights; initialise its pooler and its head at random."""
    config = _config(folder)
    for key, value in overrides.items():
        setattr(config, key, value)
    model: torch.nn.Module = HEADS[head].from_config(config, dtype=torch.float32, attn_implementation=ATTENTION)
    encoder: Any = model.base_model
    lacks, unknown = encoder.load_state_dict(weights_as_bert(folder, config.type_vocab_size), strict=False)
    _check_complete(folder, encoder, lacks)  # DistilBERT has no pooler: a missing one is right
    check_weights(folder, [f"{DISTILBERT}.{name}" for name in unknown], f"{DISTILBERT}.")
    return model


@contextlib.contextmanager
def _reading_weights(folder: Path | str) -> Iterator[None]:
    """Turn the errors of libraries about damaged weights into a `RetortError`.

    Raises:
        RetortError: the block could not read the weights.
    """
    try:
        yield
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise _damaged(folder, f"cannot be read ({reason})") from error


def _damaged(folder: Path | str, what: str) -> RetortError:
    return RetortError(f"{folder}/model.safetensors {what}", remedy_of_model(folder))


def _check_complete(folder: Path | str, model: Any, missing: Iterable[str]) -> None:
    """Check that a folder holds all weights of the embeddings and layers of a model.

    A missing pooler or head is allowed, and starts at random.

    Args:
        folder: the folder.
        model: the model.
        missing: the names of the model's weights that the folder lacks.

    Raises:
        RetortError: a missing weight belongs to the embeddings or to a layer.
    """
    prefix, weights = f"{model.base_model_prefix}.", {name for name, _ in model.named_parameters()}
    # poolers and heads of all families have other names
    held = {name: name.removeprefix(prefix) for name in weights.intersection(missing)}
    lacks = sorted(name for name, own in held.items() if own.startswith(("embeddings", "encoder")))
    if lacks:
        count = f"{len(lacks)} weight{'s' * (len(lacks) != 1)}"
        raise _damaged(folder, f"lacks {count} of the encoder, such as {lacks[0]}")


def _check_types(folder: Path | str) -> None:
    """Check that all weights of a folder are floating-point numbers; buffers, such as position ids, need not be.

    Raises:
        RetortError: a weight is of another type, such as one of a quantised model.
    """
    with safe_open(str(Path(folder) / "model.safetensors"), "pt") as weights:
        for name in weights.keys():  # noqa: SIM118 - not a dictionary
            kind = weights.get_slice(name).get_dtype()
            if name.endswith((".weight", ".bias")) and kind not in FLOATS:
                raise _damaged(folder, f"holds {name} as {kind}, not as floating-point numbers")


def _check_finite(folder: Path | str, model: torch.nn.Module) -> None:
    """Check that all weights of a model are finite, unless a note says that their training diverged.

    Raises:
        RetortError: a weight is NaN or infinite.
    """
    with torch.no_grad():
        # a fast test first: a finite sum has only finite summands; but a sum of finite ones may overflow
        bad = (name for name, weight in model.named_parameters() if not weight.sum().isfinite())
        bad = (name for name in bad if not model.get_parameter(name).isfinite().all())
        name = next(bad, None)
    if name is not None and not is_noted(folder):
        raise _damaged(folder, f"holds NaN or infinity in {name}")


def has_masked_lm(folder: Path | str) -> bool:
    """Return whether the weights of a folder have a masked-LM head."""
    names = family_of(_config(folder)).masked_lm
    with _reading_weights(folder), safe_open(str(Path(folder) / "model.safetensors"), "pt") as weights:
        return any(key.split(".")[0] in names for key in weights.keys())  # noqa: SIM118 - not a dictionary


def _config(folder: Path | str) -> Any:
    """Return the config of a folder; that of a DistilBERT as a BERT config."""
    return as_bert(_read_config(folder))


def _read_config(folder: Path | str) -> Any:
    """Read the config.json of a folder.

    Raises:
        RetortError: it is missing, cannot be read, or asks for something that is not computed.
    """
    if not (Path(folder) / "config.json").is_file():
        raise RetortError(f"{folder} holds no config.json", "a model is config.json, model.safetensors, tokenizer.json")
    try:
        config = AutoConfig.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
        first_position(config.to_dict())
    except Exception as error:  # the class of a config has checks of its own
        reason = " ".join(lines_of(error)[:2])
        raise RetortError(f"{folder}/config.json cannot be read ({reason})", "it is that of no known model") from error
    check_family(config.model_type)
    check_keys(folder, config)
    return config


def blank(
    model_folder: Path | str, architecture: Architecture, head: str = "none", num_labels: int = 1
) -> torch.nn.Module:
    """Build a model with random weights, for the vocabulary and the tokenizer of another model.

    Both are of one family, except if the new model's token embeddings are narrower than its layers: then it is an
    ELECTRA model, which is a BERT with a projection from the embeddings to the layers.

    Args:
        model_folder: the folder of the other model, which gives config and tokenizer.
        architecture: the sizes of the new model.
        head: a key of HEADS.
        num_labels: number of outputs of a classification head.
    """
    config = _config(model_folder)
    if architecture.embedding and not hasattr(config, SIZES["embedding"]):
        family, kept = family_of(config), {name: getattr(config, name) for name in KEPT}
        positions = config.max_position_embeddings - first_position(config.to_dict())  # RoBERTa's begin later
        kept |= {"max_position_embeddings": positions, "tokenizer_class": family.tokenizer}
        config = ElectraConfig(**kept)
    if head == "classification":
        config.num_labels = num_labels  # the config decides the size of the head
    model: torch.nn.Module = _random(config, architecture, head)
    return model


def bert(architecture: Architecture, vocabulary: int, head: str = "none", num_labels: int = 1, **options: Any) -> Any:
    """Build a BERT with random weights from sizes alone, for measurements; `options` are those of its class."""
    config: Any = BertConfig(vocab_size=vocabulary)
    config.num_labels = num_labels
    return _random(config, architecture, head, **options)


def _random(config: Any, architecture: Architecture, head: str, **options: Any) -> Any:
    """Build a model with random weights and these sizes; the config gives the rest."""
    sizes = sizes_of(architecture)
    for name, key in SIZES.items():
        if hasattr(config, key):
            setattr(config, key, sizes[name])
    return HEADS[head].from_config(config, dtype=torch.float32, attn_implementation=ATTENTION, **options)


def sizes_of(architecture: Architecture) -> dict[str, int]:
    """Return the sizes of an architecture by the keys of SIZES."""
    return {"embedding": architecture.hidden, **architecture.model_dump()}


def check_shape(
    folder: Path | str,
    architecture: Architecture,
    vocabulary: int,
    any_heads: bool = False,
    positions: int | None = None,
) -> None:
    """Check that the config.json of a model has the architecture and vocabulary that the study states.

    Args:
        folder: the folder of the model.
        architecture: the stated sizes.
        vocabulary: the stated number of tokens in the vocabulary.
        any_heads: accept any number of attention heads, since no weight depends on it.
        positions: the stated number of tokens in the longest text; None accepts any number.

    Raises:
        RetortError: a field differs, or the family of the model is not supported.
    """
    config = _config(folder)
    expected = {**sizes_of(architecture), "vocabulary": vocabulary}
    keys = {**SIZES, "vocabulary": "vocab_size"}
    for name, key in ((name, key) for name, key in keys.items() if not (any_heads and name == "heads")):
        actual = getattr(config, key, config.hidden_size)  # only ELECTRA's config has a width of the embeddings
        if actual != expected[name]:
            raise RetortError(f"{folder}/config.json: {key} is {actual}", f"the study says {name}: {expected[name]}")
    longest = config.max_position_embeddings - first_position(config.to_dict())  # without those before the first token
    if positions is not None and longest != positions:
        raise RetortError(f"{folder}/config.json: it takes {longest} tokens", f"the study says positions: {positions}")


def shape_of(model: torch.nn.Module, num_labels: int) -> Shape:
    """Return the sizes of a model that objectives depend on; `num_labels` is the number of outputs of its head."""
    config: Any = model.config
    return Shape(config.hidden_size, config.num_attention_heads, config.intermediate_size, num_labels)


def prepare(model: Any, frozen: Sequence[str] = (), dropout: float | None = None) -> None:
    """Freeze some modules of a model, unfreeze all others, and set the probability of every dropout.

    Args:
        model: the model.
        frozen: any of 'embeddings' and 'encoder'.
        dropout: the probability; None restores the original ones.
    """
    model.requires_grad_(True)  # an earlier stage may have frozen other modules
    if "embeddings" in frozen:
        for module in embeddings_of(model):
            module.requires_grad_(False)
    if "encoder" in frozen:
        model.base_model.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            own = module.__dict__.setdefault("own_p", module.p)  # the original one, which a later stage may restore
            module.p = own if dropout is None else dropout
