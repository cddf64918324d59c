from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import GridSettings
    from retort.specs.config import Licences
    from retort.training.stages.finetune import finetune_student
    from retort.training.stages.kept_seeds import each_seed

    read = snakemake.input
    licences = Licences.in_run(snakemake.config)
    for own, score, weights in each_seed(running, snakemake):
        finetune_student(
            own,
            settings=GridSettings.model_validate(snakemake.params.settings),
            score=score,
            student_folder=read.student,
            encoded_folder=read.encoded,
            trials_files=list(read.trials),
            weights_folder=weights,
            licences=licences.of(score.student, score.task) if weights else {},
        )
