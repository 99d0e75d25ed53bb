# A text of 20,000 lines: 30 words each out of 8,000, some of them much more frequent than others. The same every time.
function random() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
BEGIN {
    seed = 1
    for (i = 0; i < 8000; i++) {
        word = ""
        for (n = 3 + int(random() * 7); n > 0; n--)
            word = word sprintf("%c", (random() < 0.1 ? 65 : 97) + int(random() * 26))
        words[i] = word
    }
    for (l = 0; l < 20000; l++) {
        line = words[int(8000 * random() * random() * random())]
        for (i = 1; i < 30; i++)
            line = line " " words[int(8000 * random() * random() * random())]
        print line
    }
}
