"""Tests of encoded tasks on disk: what the library reads back, the same bytes each time, damage, and memory."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from datasets import ClassLabel, DatasetDict, List, Value, load_from_disk
from retort.data.batches import collate
from retort.data.encoded import Encoded, RowCounts, TokenColumns
from retort.data.encoding import SplitWriter, encode_task
from retort.data.splits import read_task
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.tasks import task_type_of
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.job_settings import rated_task, split_settings, task_settings

BERT = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
ROBERTA = processors.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1))


def letters(post_processor: Any, words: int = 40) -> Tokenizer:
    """Return a tokenizer of single letters with this many words in its vocabulary."""
    names = ["[UNK]", "[CLS]", "[SEP]", *"abcdefg"]
    names += [f"word{number}" for number in range(words - len(names))]
    tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = post_processor
    return tokenizer


def pairs(labelled: bool = True, **changes: Any) -> TaskSettings:
    """Return the settings of a task whose splits `train` and `test-de` are files of text pairs."""
    rows = {"rows": [2]}
    train = split_settings(files={"train": {"file": "train.tsv", **rows}})
    test = split_settings(files={"test-de": {"file": "test.tsv", **rows}}, labelled=labelled)
    return task_settings(splits={"train": train, "test": test}, sample=False, max_length=6, **changes)


def encoded(folder: Path, task: TaskSettings, tokenizer: Tokenizer, output: str = "encoded") -> Path:
    """Write the files of a task, encode them, and return the folder of the encoded task."""
    (folder / "train.tsv").write_text("index\tone\ttwo\tlabel\n0\ta b\tc\tyes\n1\td e f g\ta b c\tno\n")
    (folder / "test.tsv").write_text("index\tone\ttwo\tlabel\n0\tb\td\tno\n1\tg\tg g\tyes\n")
    tokenizer.save(str(folder / "tokenizer.json"))
    encode_task(task, task_type_of(task), {"s": folder}, folder / "tokenizer.json", folder / output, lambda _: None)
    return folder / output


def test_a_label_that_no_training_row_has_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RetortError, match="no row of split 'train' has the label 'maybe'"):
        encoded(tmp_path, pairs(labels=["no", "yes", "maybe"]), letters(BERT))


def test_encoding_agrees_with_transformers(texts: Path, encoder: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    task = rated_task({"seed": 1, "test": 40, "dev": 20}, neutral_below=0.5).model_copy(update={"max_length": 6})
    encode_task(task, task_type_of(task), {"texts": texts}, encoder / "tokenizer.json", tmp_path)
    records = dict(read_task(task, task_type_of(task), {"texts": texts}))["train"].records
    expected = AutoTokenizer.from_pretrained(encoder)([r.text for r in records], truncation=True, max_length=6)
    rows = load_from_disk(str(tmp_path))["train"]
    assert [list(ids) for ids in rows["input_ids"]] == expected["input_ids"]
    assert list(rows["labels"]) == [r.label for r in records]
    assert max(map(len, rows["input_ids"])) == 6


def test_tokens_that_the_tokenizer_does_not_know_are_told(tmp_path: Path) -> None:
    encoded(tmp_path, task := pairs(), letters(BERT))
    file, lines = tmp_path / "tokenizer.json", list[str]()
    file.write_text(file.read_text().replace('"g"', '"h"'))
    encode_task(task, task_type_of(task), {"s": tmp_path}, file, tmp_path / "again", lines.append)
    assert [line.split(" unknown")[0] for line in lines] == ["27% of the tokens of test-de are"]


def test_the_library_opens_an_encoded_task(tmp_path: Path) -> None:
    read = load_from_disk(str(encoded(tmp_path, pairs(), letters(BERT))))
    assert isinstance(read, DatasetDict)
    assert list(read) == ["train", "test-de"]
    assert read["train"].features == {
        "input_ids": List(Value("uint16")),
        "token_type_ids": List(Value("uint8")),
        "labels": ClassLabel(names=["no", "yes"]),
    }
    frame = read["train"].to_pandas()
    assert [list(ids) for ids in frame["input_ids"]] == [[1, 3, 4, 2, 5, 2], [1, 6, 7, 2, 3, 2]]
    assert [list(ids) for ids in frame["token_type_ids"]] == [[0, 0, 0, 0, 1, 1]] * 2
    assert frame["labels"].tolist() == [1, 0]


def test_scores_are_float32(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("index\tone\ttwo\tlabel\n0\ta\tb\t0.5\n1\tc\td\t5\n")
    split = split_settings(label_names=[])
    task = task_settings(task_type="regression", labels=[], bounds=[0, 5], splits={"dev": split}, sample=False)
    letters(BERT).save(str(tmp_path / "tokenizer.json"))
    encode_task(task, task_type_of(task), {"s": tmp_path}, tmp_path / "tokenizer.json", tmp_path / "to", lambda _: None)
    assert load_from_disk(str(tmp_path / "to"))["dev"].features["labels"] == Value("float32")


def test_token_type_ids_are_stored_only_where_the_tokenizer_has_them(tmp_path: Path) -> None:
    folder = encoded(tmp_path, pairs(), letters(ROBERTA))
    assert load_from_disk(str(folder))["train"].column_names == ["input_ids", "labels"]
    rows = Encoded.load(folder, "train")
    assert rows.token_type_ids.shape == rows.input_ids.shape
    assert rows.token_type_ids.strides == (0,)  # zeros that take no memory
    assert not collate(rows, np.array([1, 0])).token_type_ids.any()


@pytest.mark.parametrize(("words", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_input_ids_take_the_smallest_type_that_holds_the_vocabulary(words: int, dtype: type) -> None:
    tokenizer = letters(BERT, words)
    tokenise = Tokeniser.of(tokenizer)
    columns = TokenColumns(tokenise)
    for row in tokenise([f"a word{words - 11}"]):  # the last word of the vocabulary
        columns.add(row)
    rows = Encoded.from_table(pa.table(columns.columns()))
    assert rows.input_ids.dtype == dtype
    assert rows.input_ids.tolist() == [1, 3, words - 1, 2]


def test_rows_without_labels_have_no_column_of_labels(tmp_path: Path) -> None:
    folder = encoded(tmp_path, pairs(labelled=False), letters(BERT))
    assert "labels" not in load_from_disk(str(folder))["test-de"].column_names
    assert Encoded.load(folder, "train").labelled
    rows = Encoded.load(folder, "test-de")
    assert not rows.labelled
    assert rows.labels.tolist() == [0, 0]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    def digests(folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*.*"))
        }

    once = digests(folder := encoded(tmp_path, pairs(), letters(BERT), "once"))
    assert once == digests(encoded(tmp_path, pairs(), letters(BERT), "again"))
    assert {"dataset_dict.json", "rows.json", "test-de/state.json", "train/data-00000-of-00001.arrow"} <= set(once)
    counts = RowCounts.read(folder)
    assert (counts.rows, counts.tokens) == ({"train": 2, "test-de": 2}, {"train": 12, "test-de": 11})
    assert set(counts.sha256) == {"train", "test-de"}


def test_a_split_is_mapped_from_disk_without_a_copy(tmp_path: Path) -> None:
    table = pa.table({"input_ids": pa.array([[1, 2, 3]] * 5000, pa.list_(pa.uint16())), "labels": [1] * 5000})
    SplitWriter(tmp_path, ["no", "yes"]).write("train", {"": table})
    before = pa.total_allocated_bytes()
    rows = Encoded.load(tmp_path, "train")
    assert pa.total_allocated_bytes() == before
    assert rows.input_ids.base is not None
    assert not rows.input_ids.flags.writeable
    assert rows.labels.tolist() == [1] * 5000


def test_a_split_that_does_not_exist_names_those_that_do(tmp_path: Path) -> None:
    folder = encoded(tmp_path, pairs(), letters(BERT))
    with pytest.raises(RetortError, match=r"encoded/validation does not exist; splits are test-de, train"):
        Encoded.load(folder, "validation")


@pytest.mark.parametrize("name", ["dataset_dict.json", "train/state.json", "train/data-00000-of-00001.arrow"])
@pytest.mark.parametrize("kept", [0, 9, -8, None])
def test_a_file_that_was_cut_short_or_is_gone(tmp_path: Path, name: str, kept: int | None) -> None:
    """Without its last 8 bytes a stream ends between two record batches, which pyarrow takes for its end."""
    file = encoded(tmp_path, pairs(), letters(BERT)) / name
    content = file.read_bytes()
    file.unlink() if kept is None else file.write_bytes(content[:kept])
    with pytest.raises(RetortError, match=rf"{name} (is not |does not exist)[^\n]*run `retort verify --repair`"):
        Encoded.load(tmp_path / "encoded", "train")
