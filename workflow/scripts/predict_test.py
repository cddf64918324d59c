from retort.job.script import job

with job(snakemake) as running:
    from retort.settings.trainings import PredictionSettings
    from retort.training.stages.submission import predict_test

    predict_test(
        running,
        settings=PredictionSettings.model_validate(snakemake.params.settings),
        encoded_folder=snakemake.input.encoded,
        weights_folder=snakemake.input.weights,
        answers_file=snakemake.output[0],
    )
