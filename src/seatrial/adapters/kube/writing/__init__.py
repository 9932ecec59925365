"""What we write: acts carried out once each, rights asked for before, people told. No rule in sight."""
