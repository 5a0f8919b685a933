"""Settings that follow from others."""

from machine_settings import BASE_RATE, CORES

RATE = BASE_RATE * 2
WORKERS = CORES // 2
