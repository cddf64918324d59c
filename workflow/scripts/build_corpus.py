from retort.jobs import job

with job(snakemake) as running:
    from retort.settings import CorpusSettings
    from retort.stages.preprocess import build_corpus

    build_corpus(
        running,
        settings=CorpusSettings.model_validate(snakemake.params.settings),
        source_folders=list(snakemake.input.sources),
        model_folder=snakemake.input.model,
        output=snakemake.output[0],
    )
