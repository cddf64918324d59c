from retort.jobs import job, weights_folder

with job(snakemake) as running:
    from retort.models.initialise import StartFolders
    from retort.settings import TaskDistillationSettings
    from retort.stages.distill import distill_on_task
    from retort.training.evaluate import ScoreToWrite

    of, made = snakemake.wildcards, snakemake.output
    distill_on_task(
        running,
        settings=TaskDistillationSettings.model_validate(snakemake.params.settings),
        score=ScoreToWrite(of.student, of.task, int(of.seed), made.score, made.answers),
        encoded_folder=snakemake.input.encoded,
        folders=StartFolders(
            teacher=snakemake.input.teacher or None,
            model=snakemake.input.model,
            tokenizer=snakemake.input.tokenizer,
            parent=next(iter(snakemake.input.parent), None),
        ),
        activations_folder=snakemake.input.activations or None,
        weights_folder=weights_folder(snakemake),
    )
