from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import SubmissionSettings
    from retort.training.stages.submission import write_submission

    write_submission(
        running,
        settings=SubmissionSettings.model_validate(snakemake.params.settings),
        answers_files=list(snakemake.input.answers),
        output=snakemake.output[0],
    )
