"""Tests of a student's first weights, from its teacher, its parent or a released model, and of what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from retort.errors import RetortError
from retort.models import build, weights
from retort.models.encoders import FAMILIES, embeddings_of, heads_on, layers_of
from retort.models.initialise import StartFolders, initialise_student, take_layers, with_pooler
from retort.specs.model import Architecture

from tests.job_settings import distillation_settings
from tests.tiny.make import make_family

SHAPE = Architecture(layers=2, heads=3, hidden=21, intermediate=50)
NARROW = Architecture(**SHAPE.model_dump(), embedding=8)
SIZE = {"bert": 90, "electra": 90, "roberta": 300, "xlm-roberta": 300}
HEADS = ("classification", "masked-lm")
TOKENS = torch.randint(5, 60, (3, 9), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Save a released encoder of each family and teachers with either head; no two of them share weights."""
    home = tmp_path_factory.mktemp("start")
    found = {}
    for seed, family in enumerate(FAMILIES):
        found[family] = home / family
        make_family(home / family, family)
        for head in HEADS:
            torch.manual_seed(seed)
            teacher = build.load(home / family, head, 2)
            for weight in teacher.parameters():
                torch.nn.init.normal_(weight, std=0.2)
            found[f"{family} {head}"] = home / f"{family} {head}"
            weights.save(teacher, home / family, home / f"{family} {head}", "# A card\n")
    return found


def started(folders: dict[str, Path], family: str, head: str, parent: Path | None = None, **start: Any) -> Any:
    """Return a new student of the family's teacher with that head."""
    settings = distillation_settings(start.pop("shape", SHAPE), **start)
    torch.manual_seed(7)
    start_folders = StartFolders(
        teacher=str(folders[f"{family} {head}"]),
        model=str(folders[family]),
        tokenizer=str(folders[family]),
        parent=str(parent) if parent else None,
    )
    return initialise_student(settings, SIZE[family], start_folders, head, 2)


def saved(like: Path, folder: Path, shape: Architecture, head: str = "none", bias: float = 0.0) -> torch.nn.Module:
    """Save a random model in a folder, where the bias of a masked-LM head is `bias`, and return it."""
    torch.manual_seed(8)
    model: Any = build.blank(like, shape, head)
    if bias:
        torch.nn.init.constant_(model.get_output_embeddings().bias, bias)
    weights.save(model, like, folder, "# A card\n")
    return model


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Return whether two modules hold the same weights."""
    mine, theirs = one.state_dict(), other.state_dict()
    return list(mine) == list(theirs) and all(torch.equal(mine[name], theirs[name]) for name in mine)


def ends_in_embeddings(model: Any) -> bool:
    """Return whether a masked-LM head is tied to the word embeddings."""
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", HEADS)
def test_listed_layers_embeddings_and_heads_come_along(folders: dict[str, Path], family: str, head: str) -> None:
    teacher = build.load(folders[f"{family} {head}"], head, 2)
    student = started(folders, family, head, layers=[4, 2])
    assert same(embeddings_of(student)[0], embeddings_of(teacher)[0])
    assert [same(layers_of(student)[to], layers_of(teacher)[of]) for to, of in ((0, 3), (1, 1))] == [True, True]
    assert heads_on(student).keys() == heads_on(teacher).keys() != set()
    assert all(same(module, heads_on(teacher)[name]) for name, module in heads_on(student).items())
    assert head == "classification" or ends_in_embeddings(student)
    whole = started(folders, family, head, shape=SHAPE.model_copy(update={"layers": 4}), layers=[1, 2, 3, 4])
    with torch.no_grad():
        assert torch.equal(whole.eval()(TOKENS).logits, teacher.eval()(TOKENS).logits)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("layers", "changes", "said"),
    [
        ([2, 9], {}, "teacher has no layer 9; it has 4"),
        ([1, 2], {"hidden": 12}, "a student of width 12 x 50 .* layers of width 21 x 50"),
        ([1, 2], {"intermediate": 40}, "a student of width 21 x 40 .* layers of width 21 x 50"),
        ([1, 2], {"embedding": 8}, r"width 21 x 50 \(embeddings 8\) cannot .* width 21 x 50 \(embeddings 21\)"),
    ],
)
def test_layers_that_cannot_be_taken(
    folders: dict[str, Path], layers: list[int], changes: dict[str, int], said: str
) -> None:
    student = build.blank(folders["bert"], SHAPE.model_copy(update=changes))
    with pytest.raises(RetortError, match=said):
        take_layers(student, build.load(folders["bert"]), layers)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [SHAPE, NARROW], ids=["wide", "narrow"])
def test_a_student_grows_from_a_parent(
    folders: dict[str, Path], family: str, shape: Architecture, tmp_path: Path
) -> None:
    parent = saved(folders[family], tmp_path, shape)
    for head in HEADS:
        student = started(folders, family, head, parent=tmp_path, shape=shape)
        assert all(same(o, t) for o, t in zip(embeddings_of(student), embeddings_of(parent), strict=True))
        assert same(layers_of(student), layers_of(parent))
    assert ends_in_embeddings(student)
    teacher: Any = build.load(folders[f"{family} masked-lm"], "masked-lm")
    bias = student.get_output_embeddings().bias
    expected = torch.zeros_like(bias) if shape is NARROW else teacher.get_output_embeddings().bias
    assert torch.equal(bias, expected)  # the teacher's head is used if it has the student's shape
    released: Any = saved(folders[family], tmp_path / "released", shape, "masked-lm", bias=0.5)
    assert same(started(folders, family, "masked-lm", parent=tmp_path / "released", shape=shape), released)
    with pytest.raises(RetortError, match="num_hidden_layers is 2; the study says layers: 4"):
        started(folders, family, head, parent=tmp_path, shape=shape.model_copy(update={"layers": 4}))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_parent_may_have_other_attention_heads(folders: dict[str, Path], family: str, tmp_path: Path) -> None:
    saved(folders[family], tmp_path, SHAPE)
    seven, three = (
        started(folders, family, "classification", parent=tmp_path, shape=SHAPE.model_copy(update={"heads": heads}))
        for heads in (7, 3)
    )
    assert same(seven, three)
    assert seven.config.num_attention_heads == 7
    assert layers_of(seven)[0].attention.self.attention_head_size == 3
    with torch.no_grad():
        assert not torch.allclose(seven.eval()(TOKENS).logits, three.eval()(TOKENS).logits)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [SHAPE, NARROW], ids=["wide", "narrow"])
def test_a_masked_lm_student_is_kept_as_an_encoder(
    folders: dict[str, Path], family: str, shape: Architecture, tmp_path: Path
) -> None:
    from transformers import AutoModel

    torch.manual_seed(9)
    student: Any = build.blank(folders[family], shape, "masked-lm")
    encoder = with_pooler(student, distillation_settings(shape), folders[family], seed=7)
    weights.save(encoder, folders[family], tmp_path, "# A card\n")
    loaded, info = AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert (list(info["missing_keys"]), list(info["unexpected_keys"])) == ([], [])
    assert same(loaded.encoder, student.base_model.encoder)
    assert all(same(o, t) for o, t in zip(embeddings_of(loaded), embeddings_of(student), strict=True))
    if "pooler" in heads_on(loaded):
        assert same(loaded.pooler, build.load(folders[family]).pooler)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("random", [True, False], ids=["random", "from a model without a pooler"])
def test_a_pooler_is_drawn_alike_whether_its_student_has_a_masked_lm_head_or_not(
    folders: dict[str, Path], family: str, random: bool, tmp_path: Path
) -> None:
    saved(folders[family], tmp_path, SHAPE, "masked-lm")
    parent, settings = None if random else tmp_path, distillation_settings(SHAPE, random=random)
    released = str(folders[family])
    own = StartFolders(teacher=None, model=released, tokenizer=released, parent=str(parent) if parent else None)
    torch.manual_seed(7)
    plain: Any = initialise_student(settings, SIZE[family], own, "none", 1)
    predicting = started(folders, family, "masked-lm", parent=parent, random=random)
    torch.manual_seed(9)  # as after the training of a companion
    pooled = with_pooler(predicting, settings, parent or folders[family], seed=7)  # of `started`
    assert same(pooled.pooler, plain.pooler)
    assert same(pooled.encoder, predicting.base_model.encoder)
    assert not same(pooled.pooler, build.load(folders[family]).pooler)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_may_start_at_random_above_copied_layers(folders: dict[str, Path], family: str) -> None:
    start = {"layers": [2, 4], "of": "teacher"}
    copied = started(folders, family, "classification", **start)
    fresh = started(folders, family, "classification", **start, new_heads=True)
    assert same(copied.base_model.encoder, fresh.base_model.encoder)
    assert not same(heads_on(copied)["classifier"], heads_on(fresh)["classifier"])
    drawn = started(folders, family, "classification", random=True)
    assert same(heads_on(fresh)["classifier"], heads_on(drawn)["classifier"])
