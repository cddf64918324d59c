from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import GridSettings
    from retort.training.stages.grids import Part, run_grid

    run_grid(
        running,
        settings=GridSettings.model_validate(snakemake.params.settings),
        student_folder=snakemake.input.student,
        encoded_folder=snakemake.input.encoded,
        part=Part.of(snakemake),
    )
