from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import TeacherSettings
    from retort.training.stages.grids import Part, run_grid_of_teacher

    read = snakemake.input
    run_grid_of_teacher(
        running,
        settings=TeacherSettings.model_validate(snakemake.params.settings),
        encoded_folder=read.encoded,
        model_folder=read.model,
        tokenizer_folder=read.tokenizer,
        part=Part.of(snakemake),
    )
