from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.inputs import TokenizedCorpusSettings
    from retort.training.stages.preprocess import build_corpus

    build_corpus(
        running,
        settings=TokenizedCorpusSettings.model_validate(snakemake.params.settings),
        source_folders=list(snakemake.input.sources),
        tokenizer_folder=snakemake.input.tokenizer,
        part_folders=list(snakemake.input.parts),
        output=snakemake.output[0],
    )
