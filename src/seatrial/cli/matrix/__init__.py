"""Commands about versions: matrix, check, facts, plan. They need no cluster."""
