WEIGHT = 0.75
STEPS = 4


def bias() -> float:
    return 1 / STEPS
