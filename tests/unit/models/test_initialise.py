"""Tests of a student's first weights, from its teacher, its parent or a published model, and of what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from retort.errors import RetortError
from retort.models import build
from retort.models.initialise import StartFolders, initialise, take_layers, with_pooler
from retort.models.recorder import FAMILIES, embeddings_of, heads_on, layers_of
from retort.specs.model import Architecture

from tests.job_settings import distillation_settings
from tests.tiny.make import make_family

SHAPE = Architecture(layers=2, heads=3, hidden=21, intermediate=50)
NARROW = Architecture(**SHAPE.model_dump(), embedding=8)
SIZE = {"bert": 90, "electra": 90, "roberta": 300, "xlm-roberta": 300}
TEACHERS = ("none", "classification", "masked-lm")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Save a published encoder of each family and teachers with either head; no two of them share weights."""
    home = tmp_path_factory.mktemp("start")
    found = {}
    for seed, family in enumerate(FAMILIES):
        found[family] = home / family
        make_family(home / family, family)
        for head in TEACHERS[1:]:
            torch.manual_seed(seed)
            teacher = build.load(home / family, head, 2)
            for weight in teacher.parameters():
                torch.nn.init.normal_(weight, std=0.2)
            found[f"{family} {head}"] = home / f"{family} {head}"
            build.save(teacher, home / family, home / f"{family} {head}", "# A card\n")
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
    return initialise(settings, SIZE[family], start_folders, head, 2)


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Return whether two modules hold the same weights."""
    mine, theirs = one.state_dict(), other.state_dict()
    return list(mine) == list(theirs) and all(torch.equal(mine[name], theirs[name]) for name in mine)


def ends_in_embeddings(model: Any) -> bool:
    """Return whether a masked-LM head is tied to the word embeddings."""
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", TEACHERS[1:])
def test_listed_layers_embeddings_and_heads_come_along(folders: dict[str, Path], family: str, head: str) -> None:
    teacher = build.load(folders[f"{family} {head}"], head, 2)
    student = started(folders, family, head, layers=[4, 2])
    assert same(embeddings_of(student)[0], embeddings_of(teacher)[0])
    assert [same(layers_of(student)[to], layers_of(teacher)[of]) for to, of in ((0, 3), (1, 1))] == [True, True]
    assert heads_on(student).keys() == heads_on(teacher).keys() != set()
    assert all(same(module, heads_on(teacher)[name]) for name, module in heads_on(student).items())
    assert head == "classification" or ends_in_embeddings(student)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", TEACHERS[1:])
def test_a_student_of_every_layer_is_its_teacher(folders: dict[str, Path], family: str, head: str) -> None:
    teacher = build.load(folders[f"{family} {head}"], head, 2).eval()
    student = started(folders, family, head, shape=SHAPE.model_copy(update={"layers": 4}), layers=[1, 2, 3, 4]).eval()
    given = torch.randint(5, 60, (3, 9), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert torch.equal(student(given).logits, teacher(given).logits)


@pytest.mark.parametrize(
    ("layers", "shape", "said"),
    [
        ([2, 9], SHAPE, "teacher has no layer 9; it has 4"),
        ([1, 2], SHAPE.model_copy(update={"hidden": 12}), "a student of width 12 x 50 .* layers of width 21 x 50"),
        (
            [1, 2],
            SHAPE.model_copy(update={"intermediate": 40}),
            "a student of width 21 x 40 .* layers of width 21 x 50",
        ),
        ([1, 2], NARROW, r"width 21 x 50 \(embeddings 8\) cannot take layers of width 21 x 50 \(embeddings 21\)"),
    ],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_layers_that_cannot_be_taken(
    folders: dict[str, Path], family: str, layers: list[int], shape: Architecture, said: str
) -> None:
    with pytest.raises(RetortError, match=f"{said}.*"):
        take_layers(build.blank(folders[family], shape), build.load(folders[family]), layers)


def test_a_random_student_ignores_the_teacher(folders: dict[str, Path]) -> None:
    student = started(folders, "bert", "classification", random=True)
    teacher = build.load(folders["bert classification"], "classification", 2)
    assert not any(
        torch.equal(one, other)
        for one, other in zip(student.parameters(), teacher.parameters(), strict=False)
        if one.ndim == 2
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [SHAPE, NARROW], ids=["wide", "narrow"])
def test_a_student_grows_from_a_parent(
    folders: dict[str, Path], family: str, shape: Architecture, tmp_path: Path
) -> None:
    torch.manual_seed(8)
    parent = build.blank(folders[family], shape)
    build.save(parent, folders[family], tmp_path, "# A card\n")
    for head in TEACHERS[1:]:
        student = started(folders, family, head, parent=tmp_path, shape=shape)
        assert all(same(o, t) for o, t in zip(embeddings_of(student), embeddings_of(parent), strict=True))
        assert same(layers_of(student), layers_of(parent))
    assert ends_in_embeddings(student)
    teacher: Any = build.load(folders[f"{family} masked-lm"], "masked-lm")
    bias = student.get_output_embeddings().bias
    expected = torch.zeros_like(bias) if shape is NARROW else teacher.get_output_embeddings().bias
    assert torch.equal(bias, expected)  # the teacher's head is used if it has the student's shape


@pytest.mark.parametrize("family", FAMILIES)
def test_a_published_head_is_kept(folders: dict[str, Path], family: str, tmp_path: Path) -> None:
    torch.manual_seed(8)
    parent: Any = build.blank(folders[family], SHAPE, "masked-lm")
    torch.nn.init.normal_(parent.get_output_embeddings().bias)
    build.save(parent, folders[family], tmp_path, "# A card\n")
    assert same(started(folders, family, "masked-lm", parent=tmp_path), parent)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_parent_may_have_other_attention_heads(folders: dict[str, Path], family: str, tmp_path: Path) -> None:
    torch.manual_seed(8)
    parent = build.blank(folders[family], SHAPE)
    build.save(parent, folders[family], tmp_path, "# A card\n")
    given = torch.randint(5, 60, (3, 9), generator=torch.Generator().manual_seed(1))
    seven: Any = started(
        folders, family, "classification", parent=tmp_path, shape=SHAPE.model_copy(update={"heads": 7})
    ).eval()
    three: Any = started(folders, family, "classification", parent=tmp_path).eval()
    assert same(seven, three)
    assert seven.config.num_attention_heads == 7
    assert layers_of(seven)[0].attention.self.attention_head_size == 3
    with torch.no_grad():
        assert not torch.allclose(seven(given).logits, three(given).logits)


@pytest.mark.parametrize(
    ("architecture", "vocabulary", "said"),
    [
        (SHAPE.model_copy(update={"layers": 6}), 90, "num_hidden_layers is 4; the study says layers: 6"),
        (NARROW.model_copy(update={"layers": 4}), 90, "embedding_size is 21; the study says embedding: 8"),
        (SHAPE.model_copy(update={"layers": 4}), 91, "vocab_size is 90; the study says vocabulary: 91"),
    ],
)
@pytest.mark.parametrize("family", ["bert", "electra"])
def test_a_parent_of_another_shape_is_refused(
    folders: dict[str, Path], family: str, architecture: Architecture, vocabulary: int, said: str
) -> None:
    settings = distillation_settings(architecture)
    folder = str(folders[family])
    own = StartFolders(teacher=None, model=folder, tokenizer=folder, parent=folder)
    with pytest.raises(RetortError, match=said):
        initialise(settings, vocabulary, own, "none", 1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [SHAPE, NARROW], ids=["wide", "narrow"])
def test_a_masked_lm_student_is_kept_as_an_encoder(
    folders: dict[str, Path], family: str, shape: Architecture, tmp_path: Path
) -> None:
    from transformers import AutoModel

    torch.manual_seed(9)
    student: Any = build.blank(folders[family], shape, "masked-lm")
    build.save(with_pooler(student, shape, folders[family]), folders[family], tmp_path, "# A card\n")
    loaded, info = AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert (list(info["missing_keys"]), list(info["unexpected_keys"])) == ([], [])
    assert same(loaded.encoder, student.base_model.encoder)
    assert all(same(o, t) for o, t in zip(embeddings_of(loaded), embeddings_of(student), strict=True))
    if "pooler" in heads_on(loaded):
        assert same(loaded.pooler, build.load(folders[family]).pooler)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_random_students_start_with_one_pooler_whether_they_have_a_masked_lm_head_or_not(
    folders: dict[str, Path], family: str
) -> None:
    own = StartFolders(teacher=None, model=str(folders[family]), tokenizer=str(folders[family]), parent=None)
    torch.manual_seed(7)
    plain: Any = initialise(distillation_settings(SHAPE, random=True), SIZE[family], own, "none", 1)
    predicting = started(folders, family, "masked-lm", random=True)
    pooled = with_pooler(predicting, SHAPE, folders[family], random_seed=7)  # of `started`
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


def test_weights_that_are_not_safetensors_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(RetortError, match="weights are read as safetensors only"):
        build.load(tmp_path)


def test_weights_in_half_precision_become_float32(folders: dict[str, Path], tmp_path: Path) -> None:
    half = build.load(folders["bert"]).to(torch.float16)
    build.save(half, folders["bert"], tmp_path, "# A card\n")
    for model in (build.load(tmp_path), build.blank(tmp_path, SHAPE), build.blank(tmp_path, NARROW)):
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
