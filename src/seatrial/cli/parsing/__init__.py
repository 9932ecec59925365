"""How words become options, and how a command says what it takes: the parser, its help, and examples."""
