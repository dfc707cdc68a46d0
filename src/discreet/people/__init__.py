"""People: accounts, licences, keys, what they used up, and the record of who asked what."""
