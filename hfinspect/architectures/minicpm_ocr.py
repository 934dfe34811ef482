"""MiniCPM-OCR (OpenBMB 2026; transformers/models/minicpm_ocr). MiniCPM-V 4.6 (minicpmv4_6.py) for
pages of text, with its head tied to the table of tokens."""

from .minicpmv4_7 import register_renamed

register_renamed("minicpm_ocr", "MiniCPMOcr", tied=True)
