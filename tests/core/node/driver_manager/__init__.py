"""What a driver manager decides: settings, labels, the plan, and that it may be killed at any moment."""
