"""Fuzz targets: one for each parser of foreign bytes, and two against other libraries."""
