"""The version of the code of each type of job, which belongs to the job's settings.

Raise it when a change of the code changes the meaning of a number.
"""

VERSIONS = {
    "corpus": 2,
    "encode": 3,
    "teacher": 2,
    "head": 3,
    "activations": 1,
    "distill": 3,
    "grid": 2,
    "finetune": 1,
    "predict": 1,
    "profile": 2,
    "verdicts": 3,
}
