// SPDX-License-Identifier: MIT
#include "cli/top/terminal.h"

#include "text/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The alternate screen, no cursor, lines that are too long are not continued; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

static int fd = -1;
static bool entered, broken;
static struct termios before;
static struct sigaction old_stop, old_continue, old_size;
static bool stops; /* SIGTSTP is ours */
static volatile sig_atomic_t stop_asked, continued, resized;

/* --- Signals ---------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    if (number == SIGTSTP)
        stop_asked = 1;
    else if (number == SIGCONT)
        continued = 1;
    else
        resized = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGTSTP, NULL, &old_stop);
    stops = old_stop.sa_handler != SIG_IGN; /* a shell without job control has it ignored */
    if (stops)
        sigaction(SIGTSTP, &action, NULL);
    sigaction(SIGCONT, &action, &old_continue);
    sigaction(SIGWINCH, &action, &old_size);
}

static void release_signals(void)
{
    if (stops)
        sigaction(SIGTSTP, &old_stop, NULL);
    sigaction(SIGCONT, &old_continue, NULL);
    sigaction(SIGWINCH, &old_size, NULL);
}

/* --- Taking and giving back ------------------------------------------------------------------- */

static void write_all(const char *text, size_t n)
{
    while (n > 0 && !broken) {
        ssize_t done = write(fd, text, n);
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
            poll(&poll_fd, 1, 1000);
        } else if (done == 0 || errno != EINTR) {
            broken = true; /* it was closed */
        }
    }
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
    write_all(LEAVE, strlen(LEAVE));
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
    write_all(ENTER, strlen(ENTER));
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
    stop_asked = continued = resized = 0;
    catch_signals();
    return true;
}

void hp_terminal_close(void)
{
    if (fd < 0)
        return;
    leave();
    release_signals();
    close(fd);
    fd = -1;
}

/* As the shell expects: stopped by that signal. Comes back when it is continued. */
static void stop(void)
{
    struct sigaction ours;
    stop_asked = 0;
    leave();
    sigaction(SIGTSTP, &old_stop, &ours);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
}

bool hp_terminal_ready(bool *redraw)
{
    *redraw = false;
    if (fd < 0 || broken)
        return false;
    if (stop_asked)
        stop();
    if (!is_in_foreground()) {
        leave();
        return false;
    }
    *redraw = resized || continued || !entered;
    resized = 0;
    if (continued) /* after a stop that nobody saw coming: the shell's settings are there */
        leave();
    continued = 0;
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
    struct hp_strbuf frame = {0};
    if (!entered)
        return;
    hp_strbuf_add(&frame, "\033[H");
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        hp_strbuf_add(&frame,
                      "\033[K"); /* first: behind a full line it would clear the last column */
        hp_strbuf_bytes(&frame, lines, n);
        lines += n + (lines[n] == '\n');
        if (*lines)
            hp_strbuf_add(&frame, "\r\n");
    }
    if (!frame.failed)
        write_all(hp_strbuf_text(&frame), frame.length);
    hp_strbuf_fini(&frame);
}
