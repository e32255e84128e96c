"""How tools are shown to clients: each as itself, or through a few tools by which all others are found and called.

Here is what each presentation shows and answers, as values. None decides: what is open is asked of a resolution.
"""
