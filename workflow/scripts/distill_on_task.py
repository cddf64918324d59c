from retort.jobs import job, weights_folder

with job(snakemake) as running:
    from retort.models.initialise import StartFolders
    from retort.settings import TaskDistillationSettings
    from retort.stages.distill import distill_on_task
    from retort.training.evaluate import ScoreFiles

    distill_on_task(
        running,
        settings=TaskDistillationSettings.model_validate(snakemake.params.settings),
        student=snakemake.wildcards.student,
        task=snakemake.wildcards.task,
        seed=int(snakemake.wildcards.seed),
        encoded_folder=snakemake.input.encoded,
        folders=StartFolders(
            teacher=snakemake.input.teacher or None,
            model=snakemake.input.model,
            tokenizer=snakemake.input.tokenizer,
            parent=next(iter(snakemake.input.parent), None),
        ),
        activations_folder=snakemake.input.activations or None,
        files=ScoreFiles(snakemake.output.score, snakemake.output.answers),
        weights_folder=weights_folder(snakemake),
    )
