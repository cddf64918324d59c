from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.submission import write_submission

    write_submission(
        running,
        settings=snakemake.params.settings,
        answers=snakemake.input.answers,
        to=snakemake.output[0],
    )
