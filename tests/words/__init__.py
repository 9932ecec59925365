"""Every sentence that people read, in one list: word for word, and free of phrases that nobody says."""
