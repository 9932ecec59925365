"""Commands that look at a cluster that need not know seatrial: audit, doctor. They list, and write nothing."""
