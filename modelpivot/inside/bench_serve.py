"""`vllm bench serve` without the `vllm` command, which builds under another distribution name cannot start. Run by the engine's own Python."""

import argparse

from vllm.benchmarks.serve import add_cli_args, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_cli_args(parser)
    main(parser.parse_args())
