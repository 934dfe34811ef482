"""Pages in a real browser: headless Chromium, driven through a pipe."""
