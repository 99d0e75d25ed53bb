// SPDX-License-Identifier: MIT
#include "page/page.h"

#include "base/base.h"

#include <errno.h>
#include <zlib.h>

#define CHUNK (48u << 10) /* compressed bytes; a multiple of 3 */
#define LEVEL 5           /* half the time of the default for 2 % more, on a page of 9 MB */

struct pack {
    FILE *out;
    z_stream zip;
    size_t n; /* in `bytes` */
    unsigned char bytes[CHUNK];
    char text[CHUNK / 3 * 4];
};

/* Writes the compressed bytes, all groups of three; at the end what is left, filled up. */
static int put_text(struct pack *pack)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = 0;
    for (size_t i = 0; i < pack->n; i += 3) {
        size_t left = pack->n - i;
        unsigned b0 = pack->bytes[i], b1 = left > 1 ? pack->bytes[i + 1] : 0,
                 b2 = left > 2 ? pack->bytes[i + 2] : 0;
        pack->text[length++] = digits[b0 >> 2];
        pack->text[length++] = digits[(b0 & 3) << 4 | b1 >> 4];
        pack->text[length++] = left > 1 ? digits[(b1 & 15) << 2 | b2 >> 6] : '=';
        pack->text[length++] = left > 2 ? digits[b2 & 63] : '=';
    }
    pack->n = 0;
    return fwrite(pack->text, 1, length, pack->out) == length ? 0 : -1;
}

/* Compresses what is in zip.next_in; writes when there is a chunk of it, or at the end. */
static int compress_all(struct pack *pack, int flush)
{
    int status;
    do {
        pack->zip.next_out = pack->bytes + pack->n;
        pack->zip.avail_out = (unsigned)(CHUNK - pack->n);
        status = deflate(&pack->zip, flush);
        pack->n = CHUNK - pack->zip.avail_out;
        bool last = flush == Z_FINISH && status == Z_STREAM_END;
        if ((pack->n == CHUNK || last) && put_text(pack) != 0)
            return -1;
        if (status == Z_STREAM_ERROR)
            return -1;
    } while (pack->zip.avail_in || (flush == Z_FINISH && status != Z_STREAM_END));
    return 0;
}

static ssize_t write_some(void *cookie, const char *bytes, size_t n)
{
    struct pack *pack = cookie;
    size_t taken = n < (1u << 30) ? n : 1u << 30;
    pack->zip.next_in = (unsigned char *)(uintptr_t)bytes;
    pack->zip.avail_in = (unsigned)taken;
    return compress_all(pack, Z_NO_FLUSH) == 0 ? (ssize_t)taken : 0;
}

/* Writes what is left. */
static int finish(void *cookie)
{
    struct pack *pack = cookie;
    pack->zip.avail_in = 0;
    int status = compress_all(pack, Z_FINISH);
    deflateEnd(&pack->zip);
    free(pack);
    return status;
}

enum hp_err hp_pack_open(FILE *out, FILE **file)
{
    struct pack *pack = calloc(1, sizeof *pack);
    if (!pack)
        return hp_fail_nomem();
    pack->out = out;
    /* 16: with gzip's header. */
    if (deflateInit2(&pack->zip, LEVEL, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK) {
        *file =
            fopencookie(pack, "w", (cookie_io_functions_t){.write = write_some, .close = finish});
        if (*file) {
            setvbuf(*file, NULL, _IOFBF, 64 << 10);
            return HP_OK;
        }
        deflateEnd(&pack->zip);
    }
    free(pack);
    return hp_fail_nomem();
}

enum hp_err hp_pack_close(FILE *file)
{
    errno = 0;
    bool failed = ferror(file);
    failed |= fclose(file) != 0;
    if (failed)
        return hp_fail(HP_ERR_IO, "cannot write the page: %s",
                       errno ? strerror(errno) : "write error");
    return HP_OK;
}
