"""What a forecast looks like: tables and pictures for a terminal, a page for a browser.

table, plot, html, svg   duration against capacity, for every setting
frontier                 by attrition: the deadline against GPU-hours and evictions
"""
