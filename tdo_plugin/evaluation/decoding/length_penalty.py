"""The length penalty of Wu et al. (2016) in fairseq's generator."""

from __future__ import annotations


class GnmtExponent:
    """Replaces the exponent of fairseq's length penalty.

    fairseq divides a hypothesis' log-probability by `length ** exponent`, including the end symbol;
    with this class the power is ((5 + length) / 6) ** exponent, as in GNMT (equation 14).
    """

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent

    def __rpow__(self, length: float) -> float:
        return float(((5 + length) / 6) ** self.exponent)


def length_exponent(exponent: float, form: str) -> float | GnmtExponent:
    """The `len_penalty` of fairseq's generator for the form `length` or `gnmt`."""
    return GnmtExponent(exponent) if form == "gnmt" else exponent
