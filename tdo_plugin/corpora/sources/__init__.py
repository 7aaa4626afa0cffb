"""Where archives come from, and what is wanted of them."""
