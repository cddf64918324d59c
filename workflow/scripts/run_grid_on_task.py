from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import TaskDistillationSettings
    from retort.training.stages.distill import TaskFolders
    from retort.training.stages.grids import Part, run_grid_on_task

    run_grid_on_task(
        running,
        settings=TaskDistillationSettings.model_validate(snakemake.params.settings),
        folders=TaskFolders.of(snakemake.input),
        part=Part.of(snakemake),
    )
