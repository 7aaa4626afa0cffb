"""Decoding, scoring, and reports with tables and figures."""
