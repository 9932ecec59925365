"""GPU-hours and evictions that an upgrade costs a busy cluster, by attrition and in NVIDIA's three ways."""
