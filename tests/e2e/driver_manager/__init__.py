"""`seatrial driver-manager` on a real API server: its steps, its rights, and that it may be killed."""
