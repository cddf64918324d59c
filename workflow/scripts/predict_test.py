from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.submission import predict_test

    predict_test(
        running,
        settings=snakemake.params.settings,
        source=snakemake.input.source,
        vocabulary=snakemake.input.model,
        weights=snakemake.input.weights,
        answers=snakemake.output[0],
    )
