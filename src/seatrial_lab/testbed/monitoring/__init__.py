"""A real Prometheus, and an exporter that plays DCGM exporter for it.

Law of this folder: the Prometheus is Debian's, unchanged; what it scrapes is played, and says what a test plants.
"""
