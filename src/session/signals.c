// SPDX-License-Identifier: MIT
#include "session/session_impl.h"

#include "base/base.h"

#include <signal.h>

static const int caught[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
#define N_CAUGHT (sizeof caught / sizeof *caught)

static struct sigaction before[N_CAUGHT];

/* For the handler: the program's process id, 0 until it is known, and what came before that. */
static volatile sig_atomic_t watched, early_term, early_hup;

static volatile sig_atomic_t n_caught;

int hp_signals_caught(void)
{
    return n_caught;
}

static void pass_on(int number)
{
    n_caught++;
    if (number != SIGTERM && number != SIGHUP)
        return;
    if (watched > 0)
        kill((pid_t)watched, number);
    else if (number == SIGTERM)
        early_term = 1;
    else
        early_hup = 1;
}

void hp_signals_catch(void)
{
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    watched = early_term = early_hup = 0;
    for (size_t i = 0; i < N_CAUGHT; i++) {
        sigaction(caught[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
}

void hp_signals_pass_to(pid_t pid)
{
    watched = pid; /* first: from here on the handler does it */
    if (early_term)
        kill(pid, SIGTERM);
    if (early_hup)
        kill(pid, SIGHUP);
}

void hp_signals_restore(void)
{
    watched = 0;
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaction(caught[i], &before[i], NULL);
}
