from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import GridSettings
    from retort.study.load import licences_in_run
    from retort.training.stages.finetune import finetune_student
    from retort.training.stages.kept_seeds import each_seed

    read = snakemake.input
    for own, score, weights in each_seed(running, snakemake):
        finetune_student(
            own,
            settings=GridSettings.model_validate(snakemake.params.settings),
            score=score,
            student_folder=read.student,
            encoded_folder=read.encoded,
            trials_files=list(read.trials),
            weights_folder=weights,
            licences=licences_in_run(snakemake.config, score.student, score.task) if weights else {},
        )
