from retort.jobs import job, weights_folder

with job(snakemake) as running:
    from retort.settings import FinetuneSettings
    from retort.stages.finetune import finetune_student
    from retort.training.evaluate import ScoreToWrite

    of, made = snakemake.wildcards, snakemake.output
    finetune_student(
        running,
        settings=FinetuneSettings.model_validate(snakemake.params.settings),
        score=ScoreToWrite(of.student, of.task, int(of.seed), made.score, made.answers),
        student_folder=snakemake.input.student,
        encoded_folder=snakemake.input.encoded,
        trials_files=list(snakemake.input.trials),
        weights_folder=weights_folder(snakemake),
    )
