from retort.engine.job import job

with job(snakemake) as running:
    from retort.settings.inputs import TokenizedRowSetSettings
    from retort.stages.training_rows import make_training_rows

    make_training_rows(
        running,
        settings=TokenizedRowSetSettings.model_validate(snakemake.params.settings),
        source_folders=list(snakemake.input.sources),
        tokenizer_folder=snakemake.input.tokenizer,
        model_folders=list(snakemake.input.model),
        output=snakemake.output[0],
    )
