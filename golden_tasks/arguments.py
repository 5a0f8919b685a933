"""The command-line arguments that kernel scripts share."""

from __future__ import annotations

import argparse

from golden_tasks.backends import DEFAULT_PLATFORM


def add_arguments(parser: argparse.ArgumentParser, platform: str = DEFAULT_PLATFORM) -> None:
    """Adds `-p/--platform -d/--device --save-data --golden-data --runtime-dir --compile-only --seed --guards`.

    Their values are `platform`, `device`, `save_data`, `golden_data`, `runtime_dir`, `compile_only`, `seed` and
    `guards`, ready to be handed to `run`; `platform` and `device` belong into its `runtime_cfg`.
    """
    parser.add_argument("-p", "--platform", default=platform, help="where to run (default: %(default)s)")
    parser.add_argument("-d", "--device", type=int, default=0, help="device number (default: %(default)s)")
    parser.add_argument("--save-data", action="store_true", help="save inputs and expected outputs to WORK_DIR/data")
    parser.add_argument("--golden-data", metavar="DIR", help="replay the inputs and expected outputs saved in DIR")
    parser.add_argument("--runtime-dir", metavar="DIR", help="run the build in DIR instead of compiling")
    parser.add_argument("--compile-only", action="store_true", help="stop after compiling")
    parser.add_argument("--seed", type=int, help="seed of the random inputs")
    parser.add_argument("--guards", action="store_true", help="look for unwritten, changed and stray memory")
