"""Plain files that an isolated Python runs at the door of a real node's namespaces; they import nothing of ours."""
