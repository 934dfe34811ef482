"""The Hub: requests, retries, listings, ranges and the local cache of huggingface_hub."""
