"""What each presentation lists and answers, as values. The resolution decides what is open.

Here is what each presentation shows and answers, as values. None decides: what is open is asked of a resolution.
"""
