"""Studies of what is released: what its attackers learn."""
