//! What only the local runner promises; what every world does is in `tests/contract`.
