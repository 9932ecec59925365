"""What every room of core stands on; it knows none of them."""
