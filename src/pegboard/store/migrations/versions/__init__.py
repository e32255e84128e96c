"""One file a revision, numbered. A file that was released is never edited: the next change is the next file."""
