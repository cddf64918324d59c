"""The encoders of transformers: the modules of each family by name, and how attention is computed in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface, BertConfig
from transformers.activations import ACT2FN
from transformers.masking_utils import sdpa_mask

from retort.errors import RetortError
from retort.objectives.base import in_float32
from retort.registry import unknown_name
from retort.specs.model import check_family


@dataclass(frozen=True)
class EncoderFamily:
    """How a family of encoders differs from the others; inside a layer all families have the same modules.

    Args:
        embeddings: modules from input ids to the input of layer 1, in order; a model may lack the later ones.
        masked_lm: modules from the last hidden states to the logits over the vocabulary, in order.
        tokenizer: the class that AutoTokenizer loads if the tokenizer's own files name none.
    """

    embeddings: tuple[str, ...] = ("embeddings",)
    masked_lm: tuple[str, ...] = ("lm_head",)
    tokenizer: str = "BertTokenizer"


FAMILIES = {
    "bert": EncoderFamily(masked_lm=("cls",)),
    "roberta": EncoderFamily(tokenizer="RobertaTokenizer"),
    "xlm-roberta": EncoderFamily(tokenizer="XLMRobertaTokenizer"),
    "electra": EncoderFamily(("embeddings", "embeddings_project"), ("generator_predictions", "generator_lm_head")),
}

TRAINED = "the model's head was trained before"  # begins the lines about a head that is kept


def family_of(config: Any) -> EncoderFamily:
    """Return the family of a model with this config.

    Raises:
        RetortError: the family is not supported.
    """
    check_family(config.model_type)
    return FAMILIES[config.model_type]


def embeddings_of(model: Any) -> list[nn.Module]:
    """Return the modules from input ids to the input of layer 1; a projection of narrow embeddings is the last."""
    modules = dict(model.base_model.named_children())
    return [modules[name] for name in family_of(model.config).embeddings if name in modules]


def words_of(model: Any, input_ids: Tensor) -> Tensor:
    """Return the word embeddings after the layer norm of the embeddings, (batch, length, width), without dropout."""
    embeddings: Any = embeddings_of(model)[0]
    words: Tensor = embeddings.LayerNorm(embeddings.word_embeddings(input_ids))
    return words


# key of config.json -> what alone is computed here; other keys of a family's class are honoured, or change no number
ONLY: dict[str, object] = {
    "position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False,
    "is_encoder_decoder": False, "sinusoidal_pos_embds": False, "chunk_size_feed_forward": 0, "return_dict": True,
    "output_attentions": False,
}  # fmt: skip
# keys that no class has and that change no number: of older versions of transformers, of heads, of generated text, of
# those who published a model; and our own
HARMLESS = {
    "_attn_implementation_autoset", "_num_labels", "attn_implementation", "bad_words_ids", "begin_suppress_tokens",
    "decoder_start_token_id", "directionality", "do_sample", "early_stopping", "emb_size", "eos_token_ids",
    "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "language",
    "length_penalty", "max_length", "min_length", "model_name", "num_beam_groups", "num_beams", "num_labels",
    "num_return_sequences", "output_past", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_relu", "pooler_size_per_head", "pooler_type", "prefix", "remove_invalid_values", "repetition_penalty",
    "sep_token_id", "suppress_tokens", "task_specific_params", "temperature", "tf_legacy_loss", "tie_weights_",
    "tokenizer_class", "top_k", "top_p", "torch_dtype", "transformers.js_config", "typical_p",
}  # fmt: skip
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")  # old files hold them, too


def check_keys(folder: Path | str, config: Any) -> None:
    """Check that a model computes what its config says: a key that nothing here reads may ask for nothing.

    Raises:
        RetortError: a key asks for something that is not computed.
    """
    for key, value in ONLY.items():
        if (own := getattr(config, key, value)) != value:
            raise RetortError(f"{folder}/config.json: {key} is {own}", f"only {value} is computed here")
    read = {*type(config)().to_dict(), *ONLY, *HARMLESS}
    if asks := next((key for key, value in config.to_dict().items() if value and key not in read), None):
        hint = "take the key out if it changes no number of the model"
        raise RetortError(f"{folder}/config.json: {asks} is {getattr(config, asks)}, and nothing here reads it", hint)
    if (name := as_bert(config).hidden_act) not in ACT2FN:
        raise RetortError(f"{folder}/config.json: {unknown_name('activation', name, ACT2FN)}")


def check_weights(folder: Path | str, unexpected: Iterable[str], prefix: str) -> None:
    """Check that all weights of an encoder have a place.

    Args:
        folder: the folder of the model.
        unexpected: the names of weights that the model has no place for; those of poolers and heads are harmless.
        prefix: what the names of the encoder's weights may begin with.

    Raises:
        RetortError: a weight of the encoder has none.
    """
    own = {name.removeprefix(prefix): name.startswith(prefix) for name in unexpected}
    names = sorted(name for name, inside in own.items() if inside or name.startswith(("embeddings", "encoder")))
    lost = [name for name in names if name not in BUFFERS and not name.startswith("pooler.")]
    if lost:
        what = f"{folder}/model.safetensors holds {len(lost)} weight{'s' * (len(lost) != 1)} of the encoder too many"
        raise RetortError(f"{what}, such as {lost[0]}", "config.json has no place for them: take both from one model")


def layers_of(model: Any) -> nn.ModuleList:
    """Return the encoder layers; layer 1 has index 0."""
    layers: nn.ModuleList = model.base_model.encoder.layer
    return layers


def heads_on(model: Any) -> dict[str, nn.Module]:
    """Return the modules above the encoder by name: pooler, task head and masked-LM head, if the model has them."""
    modules = {**dict(model.base_model.named_children()), **dict(model.named_children())}
    names = ("pooler", "classifier", "qa_outputs", *family_of(model.config).masked_lm)
    return {name: modules[name] for name in names if name in modules}


def pooler_of(model: Any, reader: str) -> nn.Module:
    """Return the pooler: a dense layer and tanh on the last hidden state at position 0.

    Args:
        model: the model.
        reader: what reads it, for the error.

    Raises:
        RetortError: the model has none.
    """
    pooler: nn.Module | None = getattr(model.base_model, "pooler", None)
    if pooler is None:
        what = f"'{reader}' needs a pooler below the classifier, which a {model.config.model_type} does not have"
        raise RetortError(what, "leave it out")
    return pooler


@torch.no_grad()
def order_outputs(model: Any, labels: Sequence[str], say: Callable[[str], None]) -> None:
    """Put the outputs of a classification head that was trained before in the order of a task's labels, by name.

    Where the config names none, or others, the outputs keep their numbers. A line says so unless the names are equal.
    """
    names = [str(model.config.id2label[number]) for number in range(len(labels))]
    own, wanted = [name.casefold() for name in names], [label.casefold() for label in labels]
    if own == wanted:
        return
    if len(set(own)) < len(own) or set(own) != set(wanted):
        say(f"{TRAINED}: its labels {', '.join(names)} are taken as {', '.join(labels)}")
    else:
        *_, last = (module for module in model.classifier.modules() if isinstance(module, nn.Linear))
        order = [own.index(label) for label in wanted]
        for weight in (last.weight, last.bias):
            weight.copy_(weight[order])
        say(f"{TRAINED}: its outputs {', '.join(names)} are put in the order {', '.join(labels)}")
    name_labels(model, labels)


def name_labels(model: Any, labels: Sequence[str]) -> None:
    """Name the outputs of a classification head in the config."""
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {label: number for number, label in enumerate(labels)}


def masked_lm_logits(model: Any, hidden: Tensor) -> Tensor:
    """Return the logits of the masked-LM head, (positions, vocabulary), for last hidden states (positions, width)."""
    for name in family_of(model.config).masked_lm:
        hidden = getattr(model, name)(hidden)
    return hidden


def round_once(model: Any, precision: str) -> None:
    """Prepare a model that is never trained for autocast: what would be rounded at each use is rounded once.

    That is the weights of linear maps inside the layers, and the hidden states that queries, keys and values share. The
    outputs under autocast are the same.

    Args:
        model: the model; another one may share no weight of its layers.
        precision: of its forward passes; another than 'bfloat16' rounds nothing.
    """
    if precision != "bfloat16":
        return
    for layer in layers_of(model):
        for module in layer.modules():
            if isinstance(module, nn.Linear):
                module.to(torch.bfloat16)
        attention = layer.get_submodule("attention.self")
        attention.register_forward_pre_hook(lambda _, inputs: (inputs[0].to(torch.bfloat16), *inputs[1:]))


# DistilBERT (Sanh et al., 2019) is a BERT without token type embeddings and without a pooler, under other names.

DISTILBERT = "distilbert"
CONFIG_KEYS = {"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "hidden_size": "dim",
               "intermediate_size": "hidden_dim", "hidden_act": "activation", "hidden_dropout_prob": "dropout",
               "attention_probs_dropout_prob": "attention_dropout", "vocab_size": "vocab_size",
               "max_position_embeddings": "max_position_embeddings", "pad_token_id": "pad_token_id",
               "initializer_range": "initializer_range"}  # fmt: skip
WEIGHT_NAMES = {
    "transformer.layer": "encoder.layer",
    "q_lin": "self.query",
    "k_lin": "self.key",
    "v_lin": "self.value",
    "out_lin": "output.dense",
    "sa_layer_norm": "attention.output.LayerNorm",
    "ffn.lin1": "intermediate.dense",
    "ffn.lin2": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}


def as_bert(config: Any) -> Any:
    """Return a DistilBERT config as the BERT config of the same model; any other config unchanged."""
    if config.model_type != DISTILBERT:
        return config
    return BertConfig(**{ours: getattr(config, theirs) for ours, theirs in CONFIG_KEYS.items()})


def weights_as_bert(folder: Path | str, types: int) -> dict[str, Tensor]:
    """Return the weights of a DistilBERT's encoder under BERT's names.

    The embeddings of the `types` token types are zeros, so that they add nothing. A masked-LM head is left out: its
    layers differ from BERT's.
    """
    weights = {}
    for name, weight in load_file(str(Path(folder) / "model.safetensors")).items():
        ours = name.removeprefix(f"{DISTILBERT}.")
        if ours.split(".")[0] in ("embeddings", "transformer"):
            for theirs, bert in WEIGHT_NAMES.items():
                ours = ours.replace(f"{theirs}.", f"{bert}.")
            weights[ours] = weight.float()  # released weights may be in 16 bits
    embeddings = weights["embeddings.word_embeddings.weight"]  # (vocabulary, width)
    return {**weights, "embeddings.token_type_embeddings.weight": torch.zeros(types, embeddings.shape[1])}


# Attention inside a layer: PyTorch's fused form, or the plain form where that is faster, in trainings on a CPU.
#
# With dropout, PyTorch has no fused form on a CPU. Without, the backward pass of its fused form takes several times as
# long as the plain form on short texts, and half as long on texts of 512 tokens.

ATTENTION = "retort"  # the `attn_implementation` of every model that is loaded or built
LONGEST = 128  # tokens of a short text, at most


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Compute attention as transformers asks for it; return (batch, query, heads, head size), and no weights.

    Args:
        module: the module of the layer's attention.
        query: (batch, heads, query, head size).
        key: (batch, heads, key, head size).
        value: (batch, heads, key, head size).
        attention_mask: True at real keys, broadcast to (batch, heads, query, key); None if all are real.
        dropout: the probability with which a weight is dropped.
        scaling: the factor of the scores; None for 1 / sqrt(head size).
        others: arguments for attention of other kinds than an encoder's.
    """
    return context_of(query, key, value, attention_mask, dropout, scaling).transpose(1, 2).contiguous(), None


def context_of(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float = 0.0, scaling: float | None = None
) -> Tensor:
    """Return dropout(softmax(Q K^T * scaling)) V, (batch, heads, query, head size); see `attend` for the arguments."""
    trains = query.requires_grad and query.device.type == "cpu" and query.dtype == torch.bfloat16
    if trains and (dropout > 0 or query.shape[-2] <= LONGEST):
        return plain(query, key, value, mask, dropout, scaling)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout, scale=scaling)


def plain(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float = 0.0, scaling: float | None = None
) -> Tensor:
    """Compute attention in the plain form; the softmax is in float32, or in float64 if its input is."""
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query * scaling, key.transpose(-1, -2))  # (batch, heads, query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = F.softmax(in_float32(scores), dim=-1).to(value.dtype)  # each row sums to 1
    return torch.matmul(F.dropout(weights, dropout), value)


AttentionInterface.register(ATTENTION, attend)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)
