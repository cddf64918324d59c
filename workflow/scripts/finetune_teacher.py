from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import TeacherSettings
    from retort.specs.config import Licences
    from retort.training.stages.kept_seeds import one_score
    from retort.training.stages.teacher import finetune_teacher

    of, read = snakemake.wildcards, snakemake.input
    licences = Licences.in_run(snakemake.config)
    settings = TeacherSettings.model_validate(snakemake.params.settings)
    with one_score(running, of.teacher, of.task, settings.seed, snakemake.output) as score:
        finetune_teacher(
            running,
            settings,
            score,
            encoded_folder=read.encoded,
            model_folder=read.model,
            tokenizer_folder=read.tokenizer,
            trials_files=list(read.trials),
            output=snakemake.output.model,
            licences=licences.of(of.teacher, of.task),
        )
