from retort.job.context import job

with job(snakemake) as running:
    from retort.models.initialise import StartFolders
    from retort.settings.trainings import CorpusDistillationSettings
    from retort.specs.config import Licences
    from retort.training.stages.distill import distill_students

    read, settings = snakemake.input, snakemake.params.settings
    licences = Licences.in_run(snakemake.config)
    distill_students(
        running,
        settings={name: CorpusDistillationSettings.model_validate(own) for name, own in settings.items()},
        corpus_folders=list(read.corpora),
        folders=StartFolders(read.teacher, read.model, read.tokenizer, next(iter(read.parent), None)),
        output=snakemake.output.folder,
        licences={name: licences.of(name) for name in settings},
    )
