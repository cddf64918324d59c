from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import ProfileSettings
    from retort.training.stages.profile import profile_student

    profile_student(
        running,
        settings=ProfileSettings.model_validate(snakemake.params.settings),
        student=snakemake.wildcards.student,
        model_folder=snakemake.input.model,
        profile_file=snakemake.output[0],
    )
