"""The version of the code of each type of job, which belongs to the job's settings.

Raise it when a change of the code changes the meaning of a number.
"""

VERSIONS = {
    "corpus": 1,
    "encode": 2,
    "teacher": 1,
    "head": 2,
    "activations": 1,
    "distill": 2,
    "grid": 1,
    "finetune": 1,
    "predict": 1,
    "profile": 1,
    "verdicts": 2,
}
