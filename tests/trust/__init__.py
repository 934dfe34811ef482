"""What runs code and what does not: files made to attack, and files that libraries really save."""
