"""Tests of a study's cost: each job is counted once; rows and blocks as they were encoded; speed, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from retort.cli import main
from retort.cost import work
from retort.cost.jobs import Jobs
from retort.cost.ledger import Bill, bills_of, selected_exhibits, targets_of
from retort.cost.preprocessing import Rows, Volume
from retort.cost.speed import Speed, speed_of_device
from retort.cost.work import Work
from retort.errors import RetortError
from retort.plan import resolve_data
from retort.plan.plan import Plan
from retort.settings.trainings import TimingSettings
from retort.specs.config import read_config

from tests.job_settings import schedule


def billed(plan: Plan, *names: str) -> dict[str, Bill]:
    """Return the bill of each table, by name."""
    targets = targets_of(plan, selected_exhibits(plan.study, list(names)), whole=not names)
    return {bill.name: bill for bill in bills_of(Jobs(plan), targets)}


def test_a_student_on_a_task(plan: Plan) -> None:
    job = Jobs(plan).at("results/scores/tiny-kd/mood/seed-2.json")
    # 16 tokens; 2 layers of 4 x 24 x 24 + 2 x 24 x 48 weights, of which the last uses 24 x 24 + 2 x 24 x 48 for one
    # token alone; pooler and 2 classes
    once = 2 * (9216 * 16 - 2880 * 15) + 2 * 4 * 16**2 * 24 + 2 * 24 * (24 + 2)
    assert job
    # two seeds; the teacher's stored activations are read; 40 rows are scored
    assert job.estimate.work.flops == 2 * (3 * 6 * 8 * once + 40 * once)
    assert set(job.needs) >= {"results/teachers/tiny-teacher/mood/model", "results/activations/tiny-teacher/mood"}


def test_a_student_on_a_corpus(plan: Plan) -> None:
    job = Jobs(plan).at("results/distilled/tiny-predicting")
    masked = 0.15 * 16
    student = 2 * 2048 * 16 + 4 * 16**2 * 16 + 2 * 16 * (16 + 90) * masked
    teacher = 2 * 18432 * 16 + 4 * 4 * 16**2 * 24 + 2 * 24 * (24 + 90) * masked
    assert job
    assert job.estimate.work.flops == pytest.approx(3 * 8 * (3 * student + teacher))  # half of six steps


def test_a_profile_is_of_every_batch_that_tables_ask_for(plan: Plan) -> None:
    plain = plan.settings.profiles["tiny-kd"].model_copy(update={"further": None})
    larger = plain.model_copy(update={"further": [TimingSettings(batch=64, length=plain.length)]})
    assert plain.batch == 1
    assert work.profile(larger).flops == 65 * work.profile(plain).flops


def test_jobs_are_counted_in_the_first_table_that_needs_them(plan: Plan) -> None:
    found = billed(plan)
    # table 1: a teacher, its stored activations and two students on each of two tasks
    assert {name: (bill.own.models, bill.shared.models) for name, bill in found.items() if "table" in name} == {
        "tiny/table1": (8, 0),
        "tiny/table4": (5, 0),  # a head, two students on the corpus, a grid, and the seeds of its best point
        "tiny/table2": (2, 0),
        "tiny/table3": (0, 8),
    }
    assert found["tiny/table3"].shared.work.flops == pytest.approx(found["tiny/table1"].own.work.flops)
    # the table, its teacher and students; the encoded task twice, the sources of texts and model
    assert found["tiny/table1"].own.jobs == 8 + 5
    assert found["total"].own.jobs == len({job.key for job in Jobs(plan).behind(["reports/index.html"])})


def test_a_table_alone_pays_for_all_that_it_needs(plan: Plan) -> None:
    alone = billed(plan, "tiny/table3")
    assert (alone["tiny/table3"].own.models, alone["tiny/table3"].shared.models) == (8, 0)


def written(plan: Plan, address: str, **changes: Any) -> None:
    """Write a score with the study's settings to its address."""
    job = Jobs(plan).at(address)
    assert job
    assert job.settings
    Path(address).parent.mkdir(parents=True, exist_ok=True)
    Path(address).write_text(json.dumps({"settings": {**job.settings, **changes}}))


def test_what_is_done_is_not_left(plan: Plan) -> None:
    for student in ("tiny-kd", "tiny-attention"):
        for seed in (1, 2):
            written(plan, f"results/scores/{student}/mood/seed-{seed}.json")
    written(plan, "results/scores/tiny-teacher/mood/seed-1.json")
    bill = billed(plan)["tiny/table1"]
    assert (bill.own.models, bill.left.models) == (8, 4)  # no open job needs the stored activations on mood


def test_a_score_of_other_settings_is_not_done(plan: Plan) -> None:
    addresses = [f"results/scores/tiny-kd/mood/seed-{seed}.json" for seed in (1, 2)]

    def is_done() -> bool:
        (job,) = {id(job): job for job in map(Jobs(plan).at, addresses)}.values()
        return job is not None and job.done

    written(plan, addresses[0])
    assert not is_done()  # of two seeds
    written(plan, addresses[1])
    assert is_done()
    written(plan, addresses[1], precision="bfloat16")
    assert not is_done()
    Path(addresses[1]).write_text("{")
    assert not is_done()


def test_rows_are_those_that_were_encoded(plan: Plan) -> None:
    settings = resolve_data.task(plan.study, "mood")
    before = Volume(plan.study)
    assert before.split("mood", settings, "test", "encoder") == Rows(40, 16)
    assert before.longest == {"mood": 16}
    folder = Path("results/encoded/mood/encoder")
    folder.mkdir(parents=True)
    (folder / "rows.json").write_text('{"rows": {"train": 9, "test": 3}, "tokens": {"train": 50, "test": 20}}')
    after = Volume(plan.study)
    assert after.split("mood", settings, "test", "encoder") == Rows(3, 20 / 3)
    assert after.longest == {}
    assert after.split("mood", settings, "dev", "encoder") == Rows(20, 16)  # not among the rows that were encoded


def test_blocks_are_those_that_were_packed(plan: Plan) -> None:
    volume = Volume(plan.study)
    assert volume.blocks("sentences", schedule(steps=3), "encoder").length == 16
    assert volume.unread == {}  # a length in steps does not need the number of blocks
    assert volume.blocks("sentences", schedule(epochs=3), "encoder") == Rows(10_000, 16)
    assert volume.unread == {"sentences": None}
    folder = Path("results/corpora/sentences/encoder")
    folder.mkdir(parents=True)
    (folder / "corpus.json").write_text('{"blocks": 12}')
    assert Volume(plan.study).blocks("sentences", schedule(epochs=3), "encoder") == Rows(12, 16)


def test_tokens_follow_from_the_words_of_sources() -> None:
    volume = Volume(Plan(read_config({"papers": ["pocket"]})).study)  # the repository's own corpora
    words = sum(volume.study.sources[name].size.words for name in ("wikipedia-en", "bookcorpus"))  # type: ignore[union-attr]
    for model in ("bert-base-uncased", "bert-large-uncased"):  # the second has the first's tokenizer
        blocks = volume.blocks("wikipedia-bookcorpus-128", schedule(epochs=1), model)
        assert blocks == Rows(round(1.3 * words / 128), 128)
    assert volume.unread == {"wikipedia-bookcorpus-128": 1.3 * words}
    assert volume.blocks("cc100-256", schedule(epochs=1), "xlm-roberta-base") == Rows(820_000, 256)


def test_rows_of_subsets_add_up(plan: Plan) -> None:
    volume = Volume(Plan(read_config({"papers": ["pocket"]})).study)  # the repository's own tasks
    mnli = resolve_data.task(volume.study, "mnli")
    assert volume.split("mnli", mnli, "dev", "bert-base-uncased") == Rows(9815 + 9832, 128)
    assert volume.split("mnli", mnli, "train", "bert-large-uncased").count == 392_702


# --- speed, and the command


def test_hours_are_those_of_all_work() -> None:
    speed = Speed(flops=1e9, bandwidth=1e8, start=7, origin="")
    assert speed.hours(Work(flops=3.6e12), jobs=0) == 1
    assert speed.hours(Work(traffic=3.6e11), jobs=0) == 1
    assert speed.hours(Work(seconds=3600), jobs=0) == 1
    assert speed.hours(Work(), jobs=3600) == 7
    relations = Work(traffic=3.6e11, relation_traffic=2.7e11)
    assert speed.hours(relations, jobs=0) == 1
    assert replace(speed, relations=3.0).hours(relations.times(2), jobs=0) == 2 * (0.25 + 3 * 0.75)
    assert replace(speed, relations=3.0).hours(relations + relations, jobs=0) == 2 * (0.25 + 3 * 0.75)


def test_a_broken_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()
    Path("results/calibration.json").write_text('{"flops": "many"}')
    with pytest.raises(RetortError, match=r"calibration\.json holds no calibration; measure again"):
        speed_of_device(None, gpu=False, config=read_config({}))


def test_the_command(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    study_folder = plan.config.study
    Path("config.yaml").write_text(json.dumps({"papers": ["tiny"], "study": study_folder, "precision": "float32"}))
    assert main(["cost", "--config", "config.yaml", "--flops", "1e9"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["table", "jobs", "done", "CPU", "hours", "shared", "left", "other", "hours", "FLOPs"]
    assert said[1].split()[:3] == ["tiny/table1", "13", "0"]
    largest = said[said.index("Largest jobs:") + 1 :][:5]
    assert all("(tiny-" in line and " h " in line and "GB of RAM" in line for line in largest)
    assert "One device at 1e+09 FLOP/s and 5e+09 bytes/s: given with --flops." in "\n".join(said)
    assert "mood 16" in "\n".join(said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny/tabel1"], "no table or figure of 'tiny' is called 'tabel1'; did you mean 'table1'?"),
        (["tini"], "no paper is called 'tini'"),
        (["tiny", "--flops", "-1"], "--flops -1 is no speed"),
        (["tiny", "--scale", "huge"], "scale"),
    ],
)
def test_a_call_that_cannot_be(
    plan: Plan, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("config.yaml").write_text(json.dumps({"papers": ["tiny"], "study": plan.config.study}))
    assert main(["cost", "--config", "config.yaml", *arguments]) == 2
    assert message in capsys.readouterr().err
