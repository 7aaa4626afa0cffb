"""The length penalty of Wu et al. (2016) in fairseq's generator."""

from __future__ import annotations


class GnmtExponent:
    """Stands where fairseq has the exponent of its length penalty.

    fairseq divides a hypothesis' log-probability by `length ** exponent`, the end symbol counted;
    here that power is ((5 + length) / 6) ** exponent, as in GNMT (equation 14).
    """

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent

    def __rpow__(self, length: float) -> float:
        return float(((5 + length) / 6) ** self.exponent)


def length_exponent(exponent: float, form: str) -> float | GnmtExponent:
    """What fairseq's generator takes as `len_penalty` for a form, `length` or `gnmt`."""
    return GnmtExponent(exponent) if form == "gnmt" else exponent
