"""Asks a Prometheus what it has scraped of nodes and GPUs. Reading only; what cannot be had is said, and never made up.

Law of this folder: points are samples as they were scraped, each with its own moment. A range query carries a sample on
for five minutes, and an exporter that died would look alive for as long; so nobody here sends one.
"""
