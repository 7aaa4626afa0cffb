"""How far half precision is from single precision in each layer, and how near its limits are."""
