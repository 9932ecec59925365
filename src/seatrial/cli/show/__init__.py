"""Commands that show what is so: status, why, history, nodes. They write nothing but what `node` is asked for."""
