from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.teacher import record_activations

    record_activations(
        running,
        settings=snakemake.params.settings,
        encoded=snakemake.input.encoded,
        teacher=snakemake.input.teacher,
        to=snakemake.output[0],
    )
