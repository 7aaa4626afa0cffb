"""Milliseconds of one matrix product in fp32 and with each kernel for 8-bit integers, in turns.

`tdo_plugin/modules/int8_products.py` chooses the kernel by the number of outputs. CPU time of one
thread, medians, inputs of width 512.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from unittest import mock

import torch

from tdo_plugin.modules import int8_products
from tdo_plugin.modules.linear import packed_product

WIDTH = 512


def main() -> None:
    """Print a table, a row for each number of outputs and of tokens."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--outputs", type=int, nargs="+", default=[512, 2048, 8000, 50_000])
    parser.add_argument("--tokens", type=int, nargs="+", default=[4, 64])
    parser.add_argument("--rounds", type=int, default=31, metavar="N")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| outputs | tokens | fp32 | FBGEMM | oneDNN |\n|---|---|---|---|---|")
    with torch.no_grad():
        for outputs in args.outputs:
            products = kinds(torch.randn(outputs, WIDTH))
            for tokens in args.tokens:
                cells = medians(products, torch.randn(tokens, WIDTH), args.rounds)
                print("|", " | ".join([f"{outputs:,}", str(tokens), *cells]), "|", flush=True)


def kinds(weight: torch.Tensor) -> dict[str, Callable[[torch.Tensor], object]]:
    """Each kind of product with this weight (E, D), by name."""
    single = packed_product(weight)
    chosen = {"fp32": lambda x: single(x, weight, None)}
    for name, limit in (("FBGEMM", len(weight) + 1), ("oneDNN", 0)):
        with mock.patch.object(int8_products, "WIDE", limit):
            product = int8_products.int8_product(weight)
        chosen[name] = lambda x, product=product: product(x, None, None)
    return chosen


def medians(
    products: Mapping[str, Callable[[torch.Tensor], object]], x: torch.Tensor, rounds: int
) -> list[str]:
    """The median milliseconds of each product of ``x``, measured in turns after a warm-up."""
    spent: dict[str, list[float]] = {name: [] for name in products}
    for number in range(rounds + 1):
        for name, product in products.items():
            begin = time.process_time()
            product(x)
            if number:
                spent[name].append(time.process_time() - begin)
    return [f"{1000 * statistics.median(each):.2f}" for each in spent.values()]


if __name__ == "__main__":
    main()
