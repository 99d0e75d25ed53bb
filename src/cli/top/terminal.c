// SPDX-License-Identifier: MIT
#include "cli/top/terminal.h"

#include "base/base.h"
#include "cli/top/keys.h"
#include "text/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The alternate screen, no cursor, lines that are too long are not continued; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

static int fd = -1;
static bool entered, broken;
static struct termios before;

/* What is on the screen; and what was typed and is not a key yet. */
static struct hp_strbuf shown;
static unsigned char typed[64];
static size_t n_typed;

#define REST_MS 20 /* the rest of a sequence comes in that time */

/* Signals that end a process: those that the session passes on are not among them. */
static const int fatal[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGABRT,
                            SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};
#define N_FATAL (sizeof fatal / sizeof *fatal)
static struct sigaction fatal_before[N_FATAL];

/* Signals of the terminal: how they were handled, and whether they came. */
enum { STOP, CONTINUE, RESIZE, SIGNALS };
static const int numbers[SIGNALS] = {SIGTSTP, SIGCONT, SIGWINCH};
static struct sigaction handled[SIGNALS];
static volatile sig_atomic_t came[SIGNALS];

/* --- Taking and giving back ------------------------------------------------------------------- */

static void on_signal(int number)
{
    for (int i = 0; i < SIGNALS; i++)
        if (numbers[i] == number)
            came[i] = 1;
}

/* The terminal as it was; then what would have happened without us. Only what a handler may do. */
static void on_fatal(int number)
{
    if (entered) {
        hp_write_all(fd, LEAVE, sizeof LEAVE - 1);
        tcsetattr(fd, TCSANOW, &before);
    }
    for (size_t i = 0; i < N_FATAL; i++)
        if (fatal[i] == number)
            sigaction(number, &fatal_before[i], NULL);
    raise(number);
}

static void catch_fatal(void)
{
    struct sigaction action = {.sa_handler = on_fatal};
    for (size_t i = 0; i < N_FATAL; i++) {
        sigaction(fatal[i], NULL, &fatal_before[i]);
        if (fatal_before[i].sa_handler != SIG_IGN)
            sigaction(fatal[i], &action, NULL);
    }
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (int i = 0; i < SIGNALS; i++) {
        came[i] = 0;
        sigaction(numbers[i], NULL, &handled[i]);
        /* A shell without job control has SIGTSTP ignored. */
        if (i != STOP || handled[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

bool hp_write_all(int to, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(to, bytes, n);
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            struct pollfd poll_fd = {.fd = to, .events = POLLOUT};
            poll(&poll_fd, 1, 1000);
        } else if (done == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void put(const char *text)
{
    broken = broken || !hp_write_all(fd, text, strlen(text)); /* it was closed */
}

static bool is_in_foreground(void)
{
    return tcgetpgrp(fd) == getpgrp();
}

static void leave(void)
{
    if (!entered)
        return;
    entered = false;
    put(LEAVE);
    if (is_in_foreground()) /* elsewhere it would stop us, and the shell has set it already */
        tcsetattr(fd, TCSADRAIN, &before);
}

static void enter(void)
{
    struct termios raw;
    if (tcgetattr(fd, &before) != 0) {
        broken = true;
        return;
    }
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(fd, TCSADRAIN, &raw);
    entered = true;
    hp_strbuf_clear(&shown);
    put(ENTER);
}

bool hp_terminal_open(void)
{
    static bool at_exit;
    const char *name = getenv("TERM");
    if (!isatty(STDERR_FILENO) || !name || !*name || strcmp(name, "dumb") == 0)
        return false;
    bool both = (fcntl(STDERR_FILENO, F_GETFL) & O_ACCMODE) == O_RDWR;
    fd = both ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (!at_exit)
        atexit(hp_terminal_close);
    at_exit = true;
    entered = broken = false;
    catch_signals();
    catch_fatal();
    return true;
}

void hp_terminal_close(void)
{
    if (fd < 0)
        return;
    leave();
    for (int i = 0; i < SIGNALS; i++)
        sigaction(numbers[i], &handled[i], NULL);
    for (size_t i = 0; i < N_FATAL; i++)
        sigaction(fatal[i], &fatal_before[i], NULL);
    hp_strbuf_fini(&shown);
    n_typed = 0;
    close(fd);
    fd = -1;
}

/* As the shell expects: stopped by that signal. Comes back when it is continued. */
static void stop(void)
{
    struct sigaction ours;
    came[STOP] = 0;
    leave();
    sigaction(SIGTSTP, &handled[STOP], &ours);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
}

bool hp_terminal_ready(bool *redraw)
{
    *redraw = false;
    if (fd < 0 || broken)
        return false;
    if (came[STOP])
        stop();
    if (!is_in_foreground()) {
        leave();
        return false;
    }
    *redraw = came[RESIZE] || came[CONTINUE] || !entered;
    if (came[RESIZE])
        hp_strbuf_clear(&shown);
    if (came[CONTINUE]) /* after a stop that nobody saw coming: the shell's settings are there */
        leave();
    came[RESIZE] = came[CONTINUE] = 0;
    if (!entered)
        enter();
    return entered;
}

/* --- While it is ours ------------------------------------------------------------------------- */

void hp_terminal_size(size_t *width, size_t *height)
{
    struct winsize size;
    bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    *width = known ? size.ws_col : 80;
    *height = known ? size.ws_row : 24;
}

/* Reads what has been typed, waiting no longer than that. Whether there was anything. */
static bool read_typed(int ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    if (n_typed == sizeof typed || poll(&poll_fd, 1, ms) != 1 || !(poll_fd.revents & POLLIN))
        return false;
    ssize_t n = read(fd, typed + n_typed, sizeof typed - n_typed);
    n_typed += n > 0 ? (size_t)n : 0;
    return n > 0;
}

int hp_terminal_key(void)
{
    size_t used = 0;
    if (!entered || (!n_typed && !read_typed(0)))
        return HP_KEY_NONE;
    int key = hp_key_decode(typed, n_typed, false, &used);
    while (!used) {
        bool more = read_typed(REST_MS);
        key = hp_key_decode(typed, n_typed, !more, &used);
    }
    n_typed -= used;
    memmove(typed, typed + used, n_typed);
    return key;
}

/* The next line of a text, with its newline, if it has one; moves the text behind it. */
static size_t next_line(const char **text, const char **line)
{
    size_t n = strcspn(*text, "\n");
    *line = *text;
    *text += n + ((*text)[n] == '\n');
    return n;
}

void hp_terminal_show(const char *lines)
{
    struct hp_strbuf frame HP_CLEANUP(hp_strbuf_fini) = {0};
    const char *now = lines, *was = hp_strbuf_text(&shown), *line, *old;
    if (!entered)
        return;
    if (!*was)
        hp_strbuf_add(&frame, "\033[2J");
    for (unsigned row = 1; *now; row++) {
        bool is_new = !*was;
        size_t n = next_line(&now, &line), n_old = next_line(&was, &old);
        /* Cleared first: behind a full line, that would clear the last column. */
        if (is_new || n != n_old || memcmp(line, old, n) != 0)
            hp_strbuf_format(&frame, "\033[%u;1H\033[K%.*s", row, (int)n, line);
    }
    if (*was) /* there were more lines */
        hp_strbuf_add(&frame, "\r\n\033[J");
    if (frame.failed)
        return;
    hp_strbuf_clear(&shown);
    hp_strbuf_add(&shown, lines);
    if (frame.length)
        put(hp_strbuf_text(&frame));
}
