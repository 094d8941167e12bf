"""Results as data and for people: what tools say, what strict mode finds."""
