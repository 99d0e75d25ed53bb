// SPDX-License-Identifier: MIT
#include "cli/recording.h"

#include "base/base.h"
#include "text/strbuf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ASKERS      8 /* who may wait for the end at the same time */
#define PATH_BYTES  128
#define DESCRIPTION 8192 /* bytes of one, at most */

/* Of a name: "1234" is a socket, "1234.about" what stands there. */
#define ABOUT ".about"

/* --- Directories ------------------------------------------------------------------------------ */

static bool is_short(const char *path)
{
    return strlen(path) + sizeof "/1234567890" <= sizeof((struct sockaddr_un *)0)->sun_path;
}

/* Where recordings of this user are. */
static void find_place(char path[static PATH_BYTES])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && runtime[0] == '/' && access(runtime, W_OK) == 0) {
        int n = snprintf(path, PATH_BYTES, "%s/hotpath", runtime);
        if (n > 0 && n < PATH_BYTES && is_short(path))
            return;
    }
    snprintf(path, PATH_BYTES, "/tmp/hotpath-%u", geteuid());
}

/* Whether it is ours alone: what is in it is believed. */
static bool is_ours(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Its name is not too long: see place(). */
static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    memcpy(address.sun_path, path, n < sizeof address.sun_path ? n : 0);
    return address;
}

static bool connect_to(const char *path, int *fd)
{
    struct sockaddr_un address = address_of(path);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && connect(*fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    if (*fd >= 0)
        close(*fd);
    return false;
}

/* --- Where it runs ---------------------------------------------------------------------------- */

static struct {
    int socket;         /* -1: it cannot be found */
    int askers[ASKERS]; /* connections */
    bool asked[ASKERS]; /* they want the end */
    int n;
    char path[PATH_BYTES + 16], about[PATH_BYTES + 32];
} own = {.socket = -1};

static bool write_description(const char *what, const char *output, char *const *command)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    char *directory HP_CLEANUP(hp_free) = output && output[0] != '/' ? getcwd(NULL, 0) : NULL;
    hp_strbuf_format(&text, "%lld\n%s\n%s%s%s\n", (long long)time(NULL), what,
                     directory ? directory : "", directory ? "/" : "", output ? output : "");
    for (size_t i = 0; command[i]; i++)
        hp_strbuf_format(&text, "%s%s", i ? " " : "", command[i]);
    int fd = open(own.about, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    size_t n = text.length < DESCRIPTION ? text.length : DESCRIPTION;
    bool written = !text.failed && write(fd, hp_strbuf_text(&text), n) == (ssize_t)n;
    close(fd);
    return written;
}

static bool listen_at(const char *path)
{
    struct sockaddr_un address = address_of(path);
    unlink(path); /* of one with the same process id that was killed */
    own.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return own.socket >= 0 &&
           bind(own.socket, (const struct sockaddr *)&address, sizeof address) == 0 &&
           listen(own.socket, ASKERS) == 0;
}

static void take_away(void)
{
    hp_recording_end("");
}

static bool begin_at(const char *directory, const char *what, const char *output,
                     char *const *command)
{
    mkdir(directory, 0700);
    if (!is_ours(directory))
        return false;
    snprintf(own.path, sizeof own.path, "%s/%d", directory, (int)getpid());
    snprintf(own.about, sizeof own.about, "%s%s", own.path, ABOUT);
    if (write_description(what, output, command) && listen_at(own.path))
        return true;
    hp_recording_end("");
    return false;
}

void hp_recording_begin(const char *what, const char *output, char *const *command)
{
    char directory[PATH_BYTES];
    own.n = 0;
    find_place(directory);
    if (begin_at(directory, what, output, command))
        atexit(take_away);
}

static void take_connection(int fd)
{
    if (own.n == ASKERS) {
        close(fd);
        return;
    }
    own.asked[own.n] = false;
    own.askers[own.n++] = fd;
}

/* One that has closed its end only looked whether somebody is here. */
static void hear(int i)
{
    char byte;
    ssize_t n = recv(own.askers[i], &byte, 1, MSG_DONTWAIT);
    if (n == 1)
        own.asked[i] = true;
    if (n == 0 && !own.asked[i]) {
        close(own.askers[i]);
        own.n--;
        own.askers[i] = own.askers[own.n];
        own.asked[i] = own.asked[own.n];
    }
}

bool hp_recording_asked(void)
{
    bool asked = false;
    if (own.socket < 0)
        return false;
    for (int fd; (fd = accept4(own.socket, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        take_connection(fd);
    for (int i = own.n; i-- > 0;)
        hear(i);
    for (int i = 0; i < own.n; i++)
        asked |= own.asked[i];
    return asked;
}

void hp_recording_end(const char *said)
{
    if (own.socket < 0 && !*own.path)
        return;
    if (own.socket >= 0 && *said)
        hp_recording_asked(); /* those who came meanwhile */
    /* Who is told that it has ended does not find it any more. */
    if (own.socket >= 0)
        close(own.socket);
    own.socket = -1;
    unlink(own.path);
    unlink(own.about);
    *own.path = 0;
    for (int i = 0; i < own.n; i++) {
        send(own.askers[i], said, strlen(said), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(own.askers[i]);
    }
    own.n = 0;
}

/* --- Who looks for it ------------------------------------------------------------------------- */

/* The next line, without its end; NULL: there is none. */
static char *take_line(char **text)
{
    char *line = *text, *end = line ? strchr(line, '\n') : NULL;
    if (!end)
        return NULL;
    *end = 0;
    *text = end + 1;
    return line;
}

static void free_recording(struct hp_recording *r)
{
    free(r->what);
    free(r->output);
    free(r->command);
    free(r->socket);
}

static enum hp_err add(struct hp_recordings *recordings, const char *socket, char *text)
{
    char *started = take_line(&text), *what = take_line(&text), *output = take_line(&text);
    if (!started || !what || !output)
        return HP_OK; /* it is being written */
    HP_TRY(hp_grow(&recordings->all, &recordings->cap, recordings->n + 1, sizeof *recordings->all));
    struct hp_recording *r = &recordings->all[recordings->n++];
    *r = (struct hp_recording){.pid = (pid_t)atoi(strrchr(socket, '/') + 1),
                               .started = strtoll(started, NULL, 10),
                               .what = strdup(what),
                               .output = strdup(output),
                               .command = strdup(text),
                               .socket = strdup(socket)};
    return r->what && r->output && r->command && r->socket ? HP_OK : hp_fail_nomem();
}

/* One that is not there any more is taken away. */
static enum hp_err look_at(struct hp_recordings *recordings, const char *socket)
{
    char about[512], text[DESCRIPTION + 1];
    int fd;
    snprintf(about, sizeof about, "%s%s", socket, ABOUT);
    if (!connect_to(socket, &fd)) {
        if (errno == ECONNREFUSED && (unlink(socket) == 0 || errno == ENOENT))
            unlink(about);
        return HP_OK;
    }
    close(fd);
    fd = open(about, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd >= 0 ? read(fd, text, DESCRIPTION) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return add(recordings, socket, text);
}

static bool is_pid(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

static enum hp_err look_in(struct hp_recordings *recordings, const char *directory)
{
    char socket[512];
    enum hp_err err = HP_OK;
    DIR *all = is_ours(directory) ? opendir(directory) : NULL;
    if (!all)
        return HP_OK;
    for (struct dirent *entry; err == HP_OK && (entry = readdir(all));)
        if (is_pid(entry->d_name)) {
            snprintf(socket, sizeof socket, "%s/%.32s", directory, entry->d_name);
            err = look_at(recordings, socket);
        }
    closedir(all);
    return err;
}

static int by_pid(const void *a, const void *b)
{
    return HP_COMPARE(((const struct hp_recording *)a)->pid, ((const struct hp_recording *)b)->pid);
}

enum hp_err hp_recordings_find(struct hp_recordings *recordings)
{
    char directory[PATH_BYTES];
    *recordings = (struct hp_recordings){0};
    find_place(directory);
    HP_TRY(look_in(recordings, directory));
    if (recordings->n)
        qsort(recordings->all, recordings->n, sizeof *recordings->all, by_pid);
    return HP_OK;
}

void hp_recordings_fini(struct hp_recordings *recordings)
{
    for (size_t i = 0; i < recordings->n; i++)
        free_recording(&recordings->all[i]);
    free(recordings->all);
    *recordings = (struct hp_recordings){0};
}

enum hp_err hp_recording_stop(const struct hp_recording *recording, char *said, size_t size)
{
    int fd;
    size_t n = 0;
    said[0] = 0;
    if (!connect_to(recording->socket, &fd)) {
        if (errno == ECONNREFUSED || errno == ENOENT) /* it ended by itself meanwhile */
            return HP_OK;
        return hp_fail(HP_ERR_IO, "recording %d cannot be asked: %s", (int)recording->pid,
                       strerror(errno));
    }
    bool sent = send(fd, "e", 1, MSG_NOSIGNAL) == 1;
    for (ssize_t got; sent && n + 1 < size; n += (size_t)got) {
        got = read(fd, said + n, size - 1 - n);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
    }
    said[n] = 0;
    close(fd);
    return HP_OK;
}
