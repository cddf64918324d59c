from retort.engine.job import job

with job(snakemake) as running:
    from retort.models.initialise import StartFolders
    from retort.settings.trainings import TaskDistillationSettings
    from retort.stages.distill import distill_on_task
    from retort.stages.kept_seeds import each_seed

    read = snakemake.input
    for own, score, weights in each_seed(running, snakemake):
        distill_on_task(
            own,
            settings=TaskDistillationSettings.model_validate(snakemake.params.settings),
            score=score,
            encoded_folder=read.encoded,
            folders=StartFolders(read.teacher or None, read.model, read.tokenizer, next(iter(read.parent), None)),
            activations_folder=read.activations or None,
            rows_folders=list(read.training_rows),
            weights_folder=weights,
        )
