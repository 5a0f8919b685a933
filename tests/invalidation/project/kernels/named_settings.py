"""Settings that are asked for by name."""

OTHER = 0.5
UNRELATED = 1
