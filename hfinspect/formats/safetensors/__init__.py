"""safetensors files by their header: reading, and the rules that spans must keep."""
