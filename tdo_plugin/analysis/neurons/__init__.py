"""What single neurons do for a language pair."""
