// SPDX-License-Identifier: MIT
/*
 * The board: what a live view shows of a run, worked out from profilers that are still counting
 * (docs/top.md).
 *
 * Nothing is done per event. hp_board_look(), between batches, takes the difference of counters to
 * the look before (or since the start) and keeps the heaviest of each kind. Source lines are found
 * for rows that are shown only, and what is in a function only for the one that was picked. A look
 * costs as long as there are blocks, distinct paths and regions; how long, it says.
 */
#ifndef HP_LIVE_BOARD_H
#define HP_LIVE_BOARD_H

#include "base/map64.h"
#include "hotpath/path.h"
#include "profiler/exact/exact.h"
#include "profiler/hotspot/profiler.h"
#include "profiler/path/walk.h"
#include "profiler/pipeline.h"

#define HP_BOARD_ROWS    1000 /* of a kind, at most */
#define HP_BOARD_HISTORY 512  /* looks that are remembered */

enum hp_board_kind {
    HP_BOARD_FUNCTIONS,
    HP_BOARD_PATHS,
    HP_BOARD_LOOPS,
    HP_BOARD_HOTSPOTS,
    HP_BOARD_LINES, /* of the function that was picked, as what follows */
    HP_BOARD_INNER, /* its loops */
    HP_BOARD_CALLERS,
    HP_BOARD_CALLEES,
    HP_BOARD_KINDS,
};
#define HP_BOARD_PICKED HP_BOARD_LINES /* the first of these */

enum hp_board_order { HP_BOARD_BY_SHARE, HP_BOARD_BY_COUNT };

/* A function, or the code of a module that is in no known one. */
struct hp_board_function {
    uint32_t id; /* HP_NO_ID: of no known one */
    uint32_t module;
};

/* A row of any kind. Texts are as found in files: any bytes; they live as long as the functions. */
struct hp_board_row {
    uint64_t weight; /* instructions; of callers and callees: calls */
    uint64_t count;  /* times it was called (function), executed (path), iterated (loop) */
    uint64_t times;  /* of a loop: executions that ended */
    uint32_t id;     /* function (HP_NO_ID: of no known one), loop, number of a hot spot */
    uint32_t module;
    uint32_t block;      /* where it begins; of a hot spot the hottest; HP_NO_ID: not known */
    uint32_t depth;      /* of a loop */
    uint32_t size;       /* of a hot spot: blocks */
    struct hp_path path; /* of a path; its targets are not there */

    uint32_t function; /* that it is, or is in; HP_NO_ID: not known */
    const char *name;  /* of the function; "": not known */
    const char *path_of_module;
    uint64_t offset; /* in the module */

    bool located; /* hp_board_locate() has found what follows */
    const char *file;
    uint32_t line, last_line; /* 0: not known */
};

struct hp_board_rows {
    struct hp_board_row *rows; /* in order */
    size_t n, cap;
    enum hp_board_order order;
    bool cut;       /* some were left out */
    bool ever;      /* its counts are of the whole run, as nothing else was known */
    uint64_t whole; /* what shares are of */
};

/* What to show, and how. */
struct hp_board_wish {
    bool kinds[HP_BOARD_KINDS];
    bool since; /* the start (or hp_board_reset()), instead of the last look */
    enum hp_board_order order[HP_BOARD_KINDS]; /* which rows are kept */
    bool picks;                                /* a function */
    struct hp_board_function picked;
    bool stubs; /* those of the procedure linkage table are shown as they are */
    /* Whether a row is to be shown. It has a name; hp_board_locate() may be called. NULL: all. */
    bool (*passes)(void *context, enum hp_board_kind kind, struct hp_board_row *row);
    void *context;
};

/* The hot spot that took most of the time between two looks, and at least a quarter of it. */
#define HP_BOARD_NO_SPOT UINT32_MAX

struct hp_board_moment {
    double rate;       /* instructions a second */
    uint32_t hot_spot; /* number */
};

struct hp_session;
struct hp_board_owner;
struct hp_board_thread;
struct hp_board_end;
struct hp_board_piece;

/* All zero, with the first group filled in as hp_board_open() does, is a new one. */
struct hp_board {
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_pipeline *pipeline;
    struct hp_profiler *exact;
    struct hp_profiler *paths, *hotspots; /* NULL: not profiled */
    bool loops;                           /* the exact one has them */
    struct hp_ppcr ppcr;                  /* of the paths */
    double looked;                        /* when the run began; then, the last look */

    /* What was found; valid until the next look. */
    double seconds;        /* between the last two looks */
    uint64_t instructions; /* since the start, all that was read of the program */
    double instructions_rate, branches_rate;
    double waiting;   /* threads that waited for the profilers, on average */
    uint32_t threads; /* that run */
    bool waits;       /* for the part of the run that was asked for */
    uint64_t whole;   /* instructions that shares are of */
    struct hp_board_rows kinds[HP_BOARD_KINDS];
    struct hp_board_row picked; /* the function, when one is */
    bool stale;                 /* what paths did is known after the next look */
    struct hp_hotspot_state detector;
    struct hp_board_row spot; /* the hot spot of now; `id` HP_BOARD_NO_SPOT: none */
    double spot_share;
    double spot_since; /* when it began, as hp_board_look() was given `now` */
    struct hp_board_moment history[HP_BOARD_HISTORY]; /* a ring */
    size_t n_history;                                 /* ever */
    double cost;                                      /* seconds of the last look, without names */

    /* Its own. */
    struct hp_session *session;
    const struct hp_board_wish *wish; /* during a look */
    double waited;                    /* as in struct hp_session_info, at the last look */
    struct hp_exact_peek peek;
    struct hp_exact_sums before, base; /* at the look before the last; at the start */
    struct hp_exact_sums change;       /* what the wish asks for */
    uint64_t recent;                   /* instructions between the last two looks */
    struct hp_board_owner *owners;     /* by block, of those without a symbol */
    size_t cap_owners;
    uint64_t *weights; /* by function */
    uint64_t *stray;   /* by module, of code in no function */
    size_t cap_weights, cap_stray;
    struct hp_exact_peek_loop *peek_loops;
    size_t cap_peek_loops;
    struct hp_hotspot_peek *spots;
    uint64_t *spots_before, *spots_base;
    size_t cap_spots, cap_spots_before, cap_spots_base;
    struct hp_board_thread *path_threads;
    size_t cap_path_threads;
    struct hp_board_rows own;               /* paths: of one thread */
    struct hp_board_row *candidates, *over; /* of all; of those that ended */
    size_t n_candidates, cap_candidates, n_over, cap_over;
    size_t paths_looked; /* n_history at the last look at them */
    bool paths_since;    /* what it was for */
    bool paths_known;    /* the look before was at them, too */
    struct hp_walk *walk;
    struct hp_map64 ends_of; /* hash of a path -> place in `ends` */
    struct hp_board_end *ends;
    size_t n_ends, cap_ends;
    struct hp_board_function detailed;  /* what the rest is of, once it is something */
    struct hp_map64 pieces_of, line_of; /* block, line -> place */
    struct hp_board_piece *pieces;
    struct hp_board_row *lines;
    size_t n_pieces, cap_pieces, n_lines, cap_lines;
    struct hp_exact_peek_calls calls, calls_before, calls_base;
    struct hp_exact_peek_calls calls_of_stubs; /* where they lead */
    size_t calls_looked;                       /* looks at them */
    bool details, calls_have_base; /* there are; they had been looked at when the start was set */
};

/* Of a session that runs, since `started`. */
void hp_board_open(struct hp_board *board, struct hp_session *session, double started);

/* `now`: seconds of a clock that never goes back. HP_ERR_NOMEM: what is found is of no use. */
enum hp_err hp_board_look(struct hp_board *board, const struct hp_board_wish *wish, double now);

/* The same moment as the last look, of which there was one, for another wish. Paths that it was not
 * at are missing, and `stale` says so. HP_ERR_NOMEM as above. */
enum hp_err hp_board_again(struct hp_board *board, const struct hp_board_wish *wish);

/* Finds the source line of a row of the board. HP_ERR_NOMEM. */
enum hp_err hp_board_locate(struct hp_board *board, enum hp_board_kind kind,
                            struct hp_board_row *row);

/* "Since the start" begins with the last look, from the next one on. */
enum hp_err hp_board_reset(struct hp_board *board);

void hp_board_fini(struct hp_board *board);

/* The moment `back` looks before the last one; NULL: that is not remembered. */
const struct hp_board_moment *hp_board_moment(const struct hp_board *board, size_t back);

#endif
