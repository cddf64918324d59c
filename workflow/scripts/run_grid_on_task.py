from retort.engine.script import job

with job(snakemake) as running:
    from retort.settings.trainings import TaskDistillationSettings
    from retort.stages.distill import TaskFolders
    from retort.stages.grids import Part, run_grid_on_task

    run_grid_on_task(
        running,
        settings=TaskDistillationSettings.model_validate(snakemake.params.settings),
        folders=TaskFolders.of(snakemake.input),
        part=Part.of(snakemake),
    )
