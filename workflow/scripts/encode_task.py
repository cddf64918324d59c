from retort.jobs import job

with job(snakemake) as running:
    from retort.settings import TaskSettings
    from retort.stages.preprocess import encode_task

    encode_task(
        running,
        settings=TaskSettings.model_validate(snakemake.params.settings),
        source_folders=list(snakemake.input.source),
        model_folder=snakemake.input.model,
        output=snakemake.output[0],
    )
