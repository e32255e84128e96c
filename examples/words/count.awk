# A command: the arguments of a call come as JSON on the input, and what is written is the result. It needs json.awk.
BEGIN {
    input()
    count = split(V["text"], word, /[ \t\r\n]+/)
    words = 0
    for (place = 1; place <= count; place++) if (word[place] != "") words++
    printf "{\"words\": %d}\n", words
    exit 0
}
