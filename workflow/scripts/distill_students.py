from retort.job.context import job

with job(snakemake) as running:
    from retort.models.initialise import StartFolders
    from retort.settings.trainings import CorpusDistillationSettings
    from retort.study.load import licences_in_run
    from retort.training.stages.distill import distill_students

    read, settings = snakemake.input, snakemake.params.settings
    distill_students(
        running,
        settings={name: CorpusDistillationSettings.model_validate(own) for name, own in settings.items()},
        corpus_folders=list(read.corpora),
        folders=StartFolders(read.teacher, read.model, read.tokenizer, next(iter(read.parent), None)),
        output=snakemake.output.folder,
        licences={name: licences_in_run(snakemake.config, name) for name in settings},
    )
