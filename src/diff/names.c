// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "diff/digest.h"
#include "report/tables.h"

#include <ctype.h>

#define HEX "0123456789abcdefABCDEF"

/* What gcc and clang append to the symbols of copies and parts of a function, between dots. */
static const char *const appended[] = {
    "constprop",  "isra",  "part", "cold",   "lto_priv",
    "localalias", "clone", "llvm", "__uniq", "resolver",
};

static bool is_appended(const char *word, size_t n)
{
    if (n > 0 && strspn(word, HEX) >= n && isdigit((unsigned char)word[0]))
        return true;
    for (size_t i = 0; i < sizeof appended / sizeof *appended; i++)
        if (strlen(appended[i]) == n && memcmp(appended[i], word, n) == 0)
            return true;
    return false;
}

size_t hp_symbol_stem(const char *symbol)
{
    size_t length = strlen(symbol), stem = length;
    /* From the end: a name may have dots of its own. A number alone is no compiler's (x.1). */
    for (size_t end = length; end > 0;) {
        const char *dot = memrchr(symbol, '.', end);
        if (!dot || dot == symbol || !is_appended(dot + 1, end - (size_t)(dot + 1 - symbol)))
            break;
        end = (size_t)(dot - symbol);
        if (!isdigit((unsigned char)dot[1]))
            stem = end;
    }
    return stem;
}

/* Where in a mangled name a hash of Rust is ("17h0123456789abcdefE" at the end); 0: nowhere. */
static size_t find_rust_hash(const char *symbol, size_t length)
{
    enum { HASH = 20 };
    if (length <= HASH + 3 || memcmp(symbol, "_ZN", 3) != 0 || symbol[length - 1] != 'E' ||
        memcmp(symbol + length - HASH, "17h", 3) != 0)
        return 0;
    return strspn(symbol + length - HASH + 3, HEX) >= HASH - 4 ? length - HASH : 0;
}

char *hp_symbol_key(const char *symbol)
{
    size_t length = hp_symbol_stem(symbol);
    size_t hash = find_rust_hash(symbol, length);
    char *key = strndup(symbol, hash ? hash + 1 : length);
    if (key && hash)
        key[hash] = 'E';
    return key;
}

char *hp_module_key(const char *path)
{
    const char *name = hp_base_name(path);
    const char *so = strstr(name, ".so.");
    return strndup(name, so ? (size_t)(so - name) + 3 : strlen(name));
}

char *hp_lambda_key(const char *name)
{
    if (!strstr(name, "{lambda") && !strstr(name, "{closure") && !strstr(name, "::$_") &&
        !strstr(name, "{unnamed"))
        return NULL;
    char *key = strdup(name), *to = key;
    for (const char *c = name; key && *c;) {
        char mark = *to++ = *c++;
        if (mark == '#' || (mark == '_' && c - name > 1 && c[-2] == '$'))
            while (isdigit((unsigned char)*c))
                c++;
    }
    if (key)
        *to = 0;
    return key;
}
