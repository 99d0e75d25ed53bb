// SPDX-License-Identifier: MIT
#include "cli/top/terminal.h"

#include "base/base.h"
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
    return true;
}

void hp_terminal_close(void)
{
    if (fd < 0)
        return;
    leave();
    for (int i = 0; i < SIGNALS; i++)
        sigaction(numbers[i], &handled[i], NULL);
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

int hp_terminal_key(void)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    unsigned char bytes[64];
    if (!entered || poll(&poll_fd, 1, 0) != 1 || !(poll_fd.revents & POLLIN))
        return 0;
    ssize_t n = read(fd, bytes, 1);
    if (n != 1)
        return 0;
    if (bytes[0] != '\033')
        return bytes[0] ? bytes[0] : -1;
    while (poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLIN &&
           read(fd, bytes, sizeof bytes) > 0)
        ; /* the rest of the sequence came with it */
    return -1;
}

void hp_terminal_show(const char *lines)
{
    struct hp_strbuf frame HP_CLEANUP(hp_strbuf_fini) = {0};
    const char *before_line = "\033[H";
    if (!entered)
        return;
    for (; *lines; before_line = "\r\n") {
        int n = (int)strcspn(lines, "\n");
        /* Cleared first: behind a full line, that would clear the last column. */
        hp_strbuf_format(&frame, "%s\033[K%.*s", before_line, n, lines);
        lines += n + (lines[n] == '\n');
    }
    if (!frame.failed)
        put(hp_strbuf_text(&frame));
}
