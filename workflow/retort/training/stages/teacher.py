"""Teachers: fine-tune one on a task, fit its masked-LM head on a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torch import nn

from retort.data.tokenizers import check_ids, check_same_tokenizer, tokenizer_file
from retort.errors import Diverged, RetortError
from retort.job.context import RunningJob
from retort.models import build
from retort.models.card import About
from retort.models.initialise import check_released
from retort.models.weights import save_with_card
from retort.settings.trainings import TeacherHeadSettings, TeacherSettings
from retort.settings.trials import best_of
from retort.training.evaluate import ScoreToWrite, evaluate_model, write_score
from retort.training.finetuning import fine_tuning, masked_lm_head
from retort.training.how.launch import on_every_gpu
from retort.training.setup import checkpoint_of, head_of, set_seed, train_in


@on_every_gpu
def finetune_teacher(
    job: RunningJob,
    settings: TeacherSettings,
    score: ScoreToWrite,
    encoded_folder: str,
    model_folder: str,
    tokenizer_folder: str,
    trials_files: list[str],
    output: str,
    licences: Mapping[str, str],
) -> None:
    """Fine-tune a teacher on a task at the best point of its grid, save it in the folder `output`, write its score.

    Args:
        job: the running job.
        settings: the settings of the teacher on this task.
        score: the score to write.
        encoded_folder: the folder of the encoded task.
        model_folder: the folder of the released model that is fine-tuned.
        tokenizer_folder: the folder with the files of its tokenizer.
        trials_files: the trials of all parts of the grid; empty without a grid.
        output: the folder to write.
        licences: those that its card names.

    Raises:
        RetortError: the training, or every grid point, diverged, so that no student can be distilled from this teacher;
            or the model's tokenizer differs from the one that encoded the task.
    """
    point, failed = best_of(trials_files, settings.grid)
    with _divergence_is_an_error(f"teacher '{score.student}' diverged on '{score.task}'"):
        if failed:
            raise failed
        network = finetune(job, settings.at(point), settings.seed, encoded_folder, model_folder, tokenizer_folder)
    measured = evaluate_model(job, network, encoded_folder, settings)
    save_with_card(job, settings, network, tokenizer_folder, output, score.about(measured, licences))
    write_score(job, score, settings, measured, chosen=point if settings.grid else None)


def finetune(
    job: RunningJob, settings: TeacherSettings, seed: int, encoded_folder: str, model_folder: str, tokenizer_folder: str
) -> nn.Module:
    """Fine-tune a released model on a task with one seed, and return it.

    Raises:
        Diverged: the training diverged.
        RetortError: the model's tokenizer differs from the one that encoded the task.
    """
    check_same_tokenizer(model_folder, tokenizer_folder)
    check_ids(tokenizer_file(Path(tokenizer_folder)), settings.model.vocabulary)
    set_seed(job, seed)
    check_released(model_folder, settings.model)
    network = build.load(model_folder, *head_of(settings.task), labels=settings.task.labels, say=job.say)
    network.to(job.device)
    best = settings.metric_for_best_model
    run = fine_tuning(job, network, encoded_folder, settings, settings.schedule, seed, best)
    train_in(job, run, seed, settings.precision, checkpoint_of(job, settings, seed))
    return network


@contextmanager
def _divergence_is_an_error(diverged: str) -> Iterator[None]:
    """Turn a divergence in the block into an error whose message begins with `diverged`.

    Raises:
        RetortError: the training diverged.
    """
    try:
        yield
    except Diverged as error:
        raise RetortError(f"{diverged} at step {error.step}", "lower its rate") from error


@on_every_gpu
def fit_teacher_head(
    job: RunningJob,
    settings: TeacherHeadSettings,
    teacher: str,
    corpus: str,
    corpus_folder: str,
    model_folder: str,
    tokenizer_folder: str,
    output: str,
) -> None:
    """Fit a masked-LM head of a teacher on a corpus, and save the teacher with its head in the folder `output`.

    A sentence encoder is released without its masked-LM head. A new head gives it an output distribution. The head is
    trained on top of the frozen encoder, and its decoder is tied to the word embeddings, as in BERT.

    Args:
        job: the running job.
        settings: the settings of the teacher's head on this corpus.
        teacher: the teacher's name.
        corpus: the corpus's name.
        corpus_folder: the folder of the corpus's blocks.
        model_folder: the folder of the released model.
        tokenizer_folder: the folder with the files of its tokenizer.
        output: the folder to write.

    Raises:
        RetortError: the training diverged, or the model's tokenizer differs from the one that encoded the corpus.
    """
    check_same_tokenizer(model_folder, tokenizer_folder)
    check_ids(tokenizer_file(Path(tokenizer_folder)), settings.model.vocabulary)
    set_seed(job, settings.seed)
    check_released(model_folder, settings.model)
    network = build.load(model_folder, "masked-lm").to(job.device)
    run, checkpoint = masked_lm_head(network, corpus_folder, settings), checkpoint_of(job, settings, settings.seed)
    with _divergence_is_an_error(f"the head of '{teacher}' diverged"):
        train_in(job, run, settings.seed, settings.precision, checkpoint)
    about = About(f"{teacher} with a masked-LM head, on {corpus}")
    save_with_card(job, settings, network, tokenizer_folder, output, about)
    job.say(f"done  ({job.seconds():.0f} s)")
