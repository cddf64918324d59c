"""Scores compared with plain references, with other libraries, and with numbers that other programs print."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from retort.data.encoded import Encoded
from retort.tasks import metrics as qa
from retort.tasks import task_types
from retort.tasks.metrics import metrics

from tests.conftest import DATA, needs_data
from tests.references import answers

real = needs_data("SQuAD")
NAMES = sorted(qa.normalisations)
LANGUAGES = [name.removeprefix("mlqa-") for name in NAMES if name != "squad"]
TEXTS = {
    "squad": ["The Quick, brown fox.", "a", "the", "«an» apple–tree", "U.S.", "10$", "", "it's 'the' theme"],
    "mlqa-ar": ["البيت الكبير", "كتاب، القلم؟", "الـ", "بيت"],
    "mlqa-de": ["Der Hund, das Tier", "eines Tages", "„den Ball“", "derselbe"],
    "mlqa-en": ["The dog – a friend", "“an” egg", "theme"],
    "mlqa-es": ["¿El perro? ¡Los gatos!", "una casa", "elefante", "la"],
    "mlqa-hi": ["एक लड़का।", "भारत, दिल्ली", "लड़का"],
    "mlqa-vi": ["của những người", "là một cái", "chiếc xe", "Việt Nam."],
    "mlqa-zh": ["他在北京，", "1998年 in 北京。", "abc 北京def", "北 京"],
}


@pytest.mark.parametrize("name", NAMES)
def test_every_normalisation_has_a_reference(name: str) -> None:
    for text in [*TEXTS[name], *TEXTS["squad"]]:
        assert qa.normalisations[name](text) == answers.normalise(text, name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_made_up_answers(name: str, seed: int) -> None:
    draw = random.Random(seed)
    words = " ".join([*TEXTS[name], *TEXTS["squad"]]).split()
    contexts = [" ".join(draw.choices(words, k=12)) for _ in range(80)]
    true = [[" ".join(c.split()[at : at + 3]) for at in draw.sample(range(9), k=2)] for c in contexts]
    said = answers.noisy(contexts, true, seed)
    assert qa.squad(said, true, [name] * 80) == answers.squad(said, true, name)


@pytest.mark.parametrize("seed", range(5))
def test_no_answer_at_any_threshold_and_the_best(seed: int) -> None:
    draw = random.Random(seed)
    contexts = [" ".join(draw.choices(" ".join(TEXTS["squad"]).split(), k=12)) for _ in range(60)]
    true = [[" ".join(c.split()[2:4]) + " x"] if draw.random() < 0.5 else [] for c in contexts]
    # in SQuAD's script, punctuation and articles alone count as an answer only in the search for the best threshold
    said = [text if answers.normalise(text, "squad") else "" for text in answers.noisy(contexts, true, seed)]
    differences = [value + number * 1e-6 for number, value in enumerate(answers.noisy_differences(true, seed))]
    every = [min(differences) - 1, *differences]
    tried = {threshold: answers.squad2_at(said, true, differences, threshold) for threshold in every}
    for threshold, expected in tried.items():
        found = qa.squad2(said, true, differences, threshold)
        assert {metric: found[metric] for metric in expected} == pytest.approx(expected, rel=1e-12)
    for metric in ("exact", "f1"):
        best = max(scores[metric] for scores in tried.values())
        assert found[f"best-{metric}"] == pytest.approx(best, rel=1e-12)
        assert tried[found[f"best-{metric}-threshold"]][metric] == pytest.approx(best, rel=1e-12)


def test_an_answer_of_articles_alone_is_no_answer() -> None:
    assert qa.squad2(["the", "bee"], [["the"], ["the", "a bee"]], [1.0, -1.0])["exact-answered"] == 50.0
    assert qa.squad(["the"], [["a"]], ["squad"]) == {"exact": 100.0, "f1": 0.0}
    found = qa.squad2(["a b"], [["a b"]], [-1.0])
    assert found["f1-answered"] == found["f1"] == 100.0
    assert found["f1-unanswered"] != found["f1-unanswered"]  # NaN: there are no such questions


# What other programs print for the predictions of answers.noisy(..., seed=1), and differences of seed 2: the evaluation
# functions of transformers 4.46.3 for SQuAD, and those of lm-eval 0.4.13 for MLQA with the Arabic pattern of MLQA's own
# script, which takes the article's letters out wherever they stand.
SQUAD = {"exact": 45.12771996215705, "f1": 59.01942283046353}
MLQA = {
    "ar": {"exact": 34.04255319148936, "f1": 57.74473171954671},
    "de": {"exact": 34.375, "f1": 55.89264396301296},
    "en": {"exact": 44.68641114982579, "f1": 59.49016194045726},
    "es": {"exact": 32.2, "f1": 57.59563670670527},
    "hi": {"exact": 35.8974358974359, "f1": 58.52318403825857},
    "vi": {"exact": 34.24657534246575, "f1": 59.31027399034248},
    "zh": {"exact": 36.111111111111114, "f1": 54.03199619774396},
}
SQUAD2 = {
    "exact": 58.08978354249137,
    "f1": 61.786938571091206,
    "exact-answered": 23.00944669365722,
    "f1-answered": 30.414359253468866,
    "exact-unanswered": 93.06980656013457,
    "f1-unanswered": 93.06980656013457,
    "best-exact": 57.020129706055755,
    "best-exact-threshold": 0.656,
    "best-f1": 62.45571819662681,
    "best-f1-threshold": 1.704,
}


def questions(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the contexts and the true answers of all questions of a file, in order."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    paragraphs = [paragraph for article in json.loads(raw)["data"] for paragraph in article["paragraphs"]]
    asked = [(p["context"], [a["text"] for a in q["answers"]]) for p in paragraphs for q in p["qas"]]
    return [context for context, _ in asked], [true for _, true in asked]


@real
def test_squad_dev_to_the_last_bit() -> None:
    contexts, true = questions(DATA / "SQuAD" / "dev-v1.1.json")
    said = answers.noisy(contexts, true, 1)
    assert qa.squad(said, true, ["squad"] * len(true)) == SQUAD == answers.squad(said, true, "squad")


@real
def test_squad2_dev_to_the_last_bit() -> None:
    contexts, true = questions(DATA / "SQuAD" / "dev-v2.0.json")
    said, differences = answers.noisy(contexts, true, 1), answers.noisy_differences(true, 2)
    assert qa.squad2(said, true, differences) == SQUAD2


@real
@pytest.mark.parametrize("language", LANGUAGES)
def test_mlqa_dev_to_the_last_bit(language: str) -> None:
    contexts, true = questions(DATA / "MLQA" / "dev" / f"dev-context-{language}-question-{language}.json.gz")
    said = answers.noisy(contexts, true, 1)
    assert qa.squad(said, true, [f"mlqa-{language}"] * len(true)) == MLQA[language]


# metrics of classes and scores, as scikit-learn and scipy compute them

CLASSES, SCORES = task_types["classification"].metrics, task_types["regression"].metrics


def reference(name: str) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return the metric as scikit-learn or scipy computes it."""
    import sklearn.metrics as sk
    from scipy import stats

    return {
        "accuracy": lambda p, t: sk.accuracy_score(t, p),
        "f1": lambda p, t: sk.f1_score(t, p, zero_division=0),
        "balanced-accuracy": lambda p, t: sk.balanced_accuracy_score(t, p),
        "macro-f1": lambda p, t: sk.f1_score(t, p, average="macro", zero_division=0),
        "neg-mean-squared-error": lambda p, t: -sk.mean_squared_error(t, p.astype(np.float64)),
        "matthews": lambda p, t: sk.matthews_corrcoef(t, p),
        "pearson": lambda p, t: stats.pearsonr(p, t)[0],
        "spearman": lambda p, t: stats.spearmanr(p, t)[0],
    }[name]


def test_every_metric_has_a_reference_and_a_kind() -> None:
    assert sorted(metrics) == sorted([*CLASSES, *SCORES])
    for name in metrics:
        assert callable(reference(name))


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    draws = [np.random.default_rng(seed).integers(0, 2, (2, 97)) for seed in range(5)]
    constant = [(np.array([0, 1, 1, 0, 1]), np.full(5, each)) for each in (0, 1)]
    more = [np.random.default_rng(seed).choice([0, 2, 3], (2, 9)) for seed in range(9)] * ("f1" != name != "matthews")
    for true, predicted in (*draws, *constant, *more):
        expected = pytest.approx(reference(name)(predicted, true), rel=1e-12, abs=1e-12)
        assert metrics[name](predicted, true) == expected


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", range(5))
def test_scores_with_ties(name: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    true = draw.integers(-4, 5, 97) / 4
    predicted = np.round(true + draw.normal(size=97), 1).astype(np.float32)
    assert metrics[name](predicted, true) == pytest.approx(reference(name)(predicted, true), rel=1e-6)
    if "error" not in name:
        assert metrics[name](np.ones(4), np.arange(4.0)) == 0.0


def rows(labels: list[float]) -> Encoded:
    """Return a split with these labels and no tokens."""
    return Encoded(np.array([]), np.array([]), np.arange(len(labels) + 1), np.array(labels))


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_logits_that_are_not_finite_have_no_score(kind: str) -> None:
    answers = task_types[kind]().answers(np.array([[np.nan], [0.5]]), rows([1, 0]))
    scores = task_types[kind]().scores(answers, [1, 0])
    assert answers[0] is None
    assert sorted(scores) == sorted(task_types[kind].metrics)
    assert all(np.isnan(value) for value in scores.values())


def test_metrics_of_two_classes_are_not_made_of_three() -> None:
    of_any = {"accuracy", "balanced-accuracy", "macro-f1"}
    assert set(task_types["classification"]().scores([0, 1, 2], [0, 1, 1])) == of_any
    assert set(task_types["classification"]().scores([0, 1, 0], [0, 1, 2])) == of_any
    assert set(task_types["classification"]().scores([0, 1, 0], [0, 1, 1])) == of_any | {"f1", "matthews"}
