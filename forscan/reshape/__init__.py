"""A `for` written as another `for`, which a scan can take."""
