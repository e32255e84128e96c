#!/bin/sh
# Arguments come as JSON on the input: here {"text": "…"}, in which spaces and line ends part the words.
sed 's/^{"text": *"//; s/"}$//; s/\\[nrt]/ /g' | awk '{ n += NF } END { printf "{\"words\": %d}\n", n }'
