from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.inputs import TokenizedTaskSettings
    from retort.training.stages.preprocess import encode_task

    encode_task(
        running,
        settings=TokenizedTaskSettings.model_validate(snakemake.params.settings),
        source_folders=list(snakemake.input.sources),
        tokenizer_folder=snakemake.input.tokenizer,
        output=snakemake.output[0],
    )
