from retort.jobs import job

with job(snakemake) as running:
    from retort.models.initialise import StartFolders
    from retort.settings import CorpusDistillationSettings
    from retort.stages.together import distill_together

    settings = {name: CorpusDistillationSettings.model_validate(own) for name, own in snakemake.params.settings.items()}
    distill_together(
        running,
        settings=settings,
        corpus_folders={name: snakemake.input[name] for own in settings.values() for name in own.corpora},
        folders={
            name: StartFolders(
                teacher=snakemake.input.teacher,
                model=snakemake.input.model,
                tokenizer=snakemake.input.tokenizer,
                parent=parent,
            )
            for name, parent in snakemake.params.parents.items()
        },
    )
