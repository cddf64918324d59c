from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import PredictionSettings
    from retort.training.stages.submission import predict_test, weights_of_seed

    predict_test(
        running,
        settings=PredictionSettings.model_validate(snakemake.params.settings),
        encoded_folder=snakemake.input.encoded,
        weights_folder=weights_of_seed(snakemake.input.weights, snakemake.wildcards.seed),
        answers_file=snakemake.output[0],
    )
