// SPDX-License-Identifier: MIT
/*
 * An interpreter that finds its own hot paths.
 *
 * This is a small register machine, like those in emulators and scripting languages, with what it
 * takes to make it a tracing one with libhotpath. Read it from here down; prediction is marked [1]
 * to [5]:
 *
 *   [1] make a predictor and tell it where the program starts
 *   [2] pass it every executed branch
 *   [3] when it predicts a hot path, make a trace of it
 *   [4] where paths start, check whether one is hot here; if so, run its trace
 *   [5] when a trace is left, tell the predictor where control is now
 *
 * A trace is the path as one straight list of operations, with a guard where the path had a branch:
 * no fetching, no decoding, no branches to report. (A JIT would emit machine code here.) One
 * dispatch runs all of it.
 *
 * The program is run twice, without and with traces, and must compute the same. Build it against
 * the installed library with
 *
 *   cc -O2 -o net_interpreter net_interpreter.c $(pkg-config --cflags --libs hotpath)
 */
#include <hotpath/predict.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The machine ------------------------------------------------------------------------------ */

enum op {
    SET,
    MOV,
    ADD,
    SUB,
    MUL,
    ADDI,
    ANDI,
    SHRI,
    LOAD,
    STORE,
    JMP,
    JLT,
    JGE,
    JEQ,
    CALL,
    RET,
    HALT,
    OPS
};

struct insn {
    uint8_t op, r[3];
    int32_t number; /* or where it branches to */
};

#define MAX_CODE   256
#define MAX_MEMORY 65536
#define MAX_CALLS  64

struct machine {
    struct insn code[MAX_CODE];
    uint32_t n_code;
    int64_t r[16];
    int64_t memory[MAX_MEMORY];
    uint32_t calls[MAX_CALLS]; /* where to return to */
    uint32_t n_calls;
    /* Measurements. */
    uint64_t instructions, dispatches;
};

static void die(const char *what, const char *with)
{
    fprintf(stderr, "net_interpreter: %s: %s\n", what, with);
    exit(1);
}

/* --- Operations that are no branches ---------------------------------------------------------- */

static int64_t *cell(struct machine *m, int64_t address)
{
    if (address < 0 || address >= MAX_MEMORY)
        die("memory", "address out of range");
    return &m->memory[address];
}

static void set(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = in->number;
}

static void move(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = m->r[in->r[1]];
}

static void add(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = m->r[in->r[1]] + m->r[in->r[2]];
}

static void subtract(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = m->r[in->r[1]] - m->r[in->r[2]];
}

static void multiply(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = m->r[in->r[1]] * m->r[in->r[2]];
}

static void add_number(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = m->r[in->r[1]] + in->number;
}

static void and_number(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = m->r[in->r[1]] & in->number;
}

static void shift_right(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = m->r[in->r[1]] >> in->number;
}

static void load(struct machine *m, const struct insn *in)
{
    m->r[in->r[0]] = *cell(m, m->r[in->r[1]]);
}

static void store(struct machine *m, const struct insn *in)
{
    *cell(m, m->r[in->r[0]]) = m->r[in->r[1]];
}

typedef void operation(struct machine *m, const struct insn *in);

static const struct {
    const char *name;
    const char *operands; /* r: a register, i: a number, l: a label */
    operation *run;       /* NULL: a branch, or the end */
} op_info[OPS] = {
    [SET] = {"set", "ri", set},           [MOV] = {"mov", "rr", move},
    [ADD] = {"add", "rrr", add},          [SUB] = {"sub", "rrr", subtract},
    [MUL] = {"mul", "rrr", multiply},     [ADDI] = {"addi", "rri", add_number},
    [ANDI] = {"andi", "rri", and_number}, [SHRI] = {"shri", "rri", shift_right},
    [LOAD] = {"load", "rr", load},        [STORE] = {"store", "rr", store},
    [JMP] = {"jmp", "l", NULL},           [JLT] = {"jlt", "rrl", NULL},
    [JGE] = {"jge", "rrl", NULL},         [JEQ] = {"jeq", "rrl", NULL},
    [CALL] = {"call", "l", NULL},         [RET] = {"ret", "", NULL},
    [HALT] = {"halt", "", NULL},
};

/* --- Branches --------------------------------------------------------------------------------- */

/* Executes the branch at `pc`; returns where it leads. A branch that is not taken leads to the next
 * instruction. */
static uint32_t branch(struct machine *m, uint32_t pc, bool *taken)
{
    const struct insn *in = &m->code[pc];
    int64_t a = m->r[in->r[0]], b = m->r[in->r[1]];
    *taken = true;
    switch ((enum op)in->op) {
    case JLT: *taken = a < b; break;
    case JGE: *taken = a >= b; break;
    case JEQ: *taken = a == b; break;
    case CALL:
        if (m->n_calls == MAX_CALLS)
            die("call", "too deep");
        m->calls[m->n_calls++] = pc + 1;
        break;
    case RET:
        if (m->n_calls == 0)
            die("ret", "nobody called");
        return m->calls[--m->n_calls];
    default: break; /* jmp */
    }
    return *taken ? (uint32_t)in->number : pc + 1;
}

/* Its kind in libhotpath: which branches are indirect matters. */
static enum hp_flow kind_of(const struct insn *in)
{
    switch ((enum op)in->op) {
    case JMP: return HP_FLOW_JUMP;
    case CALL: return HP_FLOW_CALL;
    case RET: return HP_FLOW_RETURN;
    default: return HP_FLOW_COND;
    }
}

/* --- Traces ----------------------------------------------------------------------------------- */

/* One operation of a trace. A guard is a branch of the path: if it leads elsewhere this time, the
 * trace is left there. */
struct trace_op {
    operation *run; /* NULL: a guard */
    struct insn in;
    uint32_t pc;       /* of a guard */
    uint32_t expected; /* of a guard: where the path continues */
};

struct trace {
    struct trace_op *ops;
    uint32_t n;
    uint32_t next; /* where control is after its end */
    uint64_t runs;
};

/* [3] The path has branches; the code between them is straight. A trace needs no jumps. */
static struct trace *make_trace(const struct machine *m, const struct hp_hot_path *path)
{
    struct trace *trace = calloc(1, sizeof *trace);
    struct trace_op *ops = calloc((size_t)MAX_CODE * (path->length + 1), sizeof *ops);
    if (!trace || !ops)
        die("trace", "out of memory");
    uint32_t pc = (uint32_t)path->start, n = 0;
    for (uint32_t i = 0; i < path->length; i++) {
        const struct hp_flow_branch *b = &path->branches[i];
        for (; pc < b->address; pc++)
            ops[n++] = (struct trace_op){.run = op_info[m->code[pc].op].run, .in = m->code[pc]};
        uint32_t target = (uint32_t)b->target;
        if (m->code[pc].op != JMP)
            ops[n++] = (struct trace_op){.pc = pc, .expected = target};
        pc = target;
    }
    *trace = (struct trace){.ops = ops, .n = n, .next = pc};
    return trace;
}

/* Runs a trace; returns where control is afterwards. */
static uint32_t run_trace(struct machine *m, struct trace *trace)
{
    trace->runs++;
    for (const struct trace_op *op = trace->ops, *end = op + trace->n; op < end; op++) {
        m->instructions++;
        if (op->run) {
            op->run(m, &op->in);
            continue;
        }
        bool taken;
        uint32_t to = branch(m, op->pc, &taken);
        if (to != op->expected)
            return to;
    }
    return trace->next;
}

/* --- The interpreter -------------------------------------------------------------------------- */

struct tracer {
    struct hp_path_predictor *predictor;
    struct trace *at[MAX_CODE]; /* by their start */
    uint32_t n_traces;
};

/* [4] Runs traces as long as a path that starts at `pc` is hot. */
static uint32_t run_traces(struct machine *m, struct tracer *tracer, uint32_t pc)
{
    if (!hp_path_predictor_is_hot(tracer->predictor, pc))
        return pc;
    while (tracer->at[pc]) {
        m->dispatches++;
        pc = run_trace(m, tracer->at[pc]);
    }
    hp_path_predictor_start(tracer->predictor, pc); /* [5] */
    return pc;
}

/* [2] A branch was executed. Returns where to continue: after traces that start there, if any. */
static uint32_t note_branch(struct machine *m, struct tracer *tracer, uint32_t pc, uint32_t to,
                            bool taken)
{
    enum hp_news news =
        hp_path_predictor_branch(tracer->predictor, pc, to, taken, kind_of(&m->code[pc]));
    if (news == HP_NEWS_NOTHING)
        return to;
    if (news == HP_NEWS_HOT) {
        const struct hp_hot_path *path = hp_path_predictor_path(tracer->predictor);
        if (!tracer->at[path->start]) {
            tracer->at[path->start] = make_trace(m, path);
            tracer->n_traces++;
        }
    }
    return run_traces(m, tracer, to);
}

/* Runs the program from its start. `tracer` may be NULL: then it is a plain interpreter. */
static void interpret(struct machine *m, struct tracer *tracer)
{
    uint32_t pc = 0;
    if (tracer)
        hp_path_predictor_start(tracer->predictor, pc);
    while (m->code[pc].op != HALT) {
        m->dispatches++;
        m->instructions++;
        const struct insn *in = &m->code[pc];
        if (op_info[in->op].run) {
            op_info[in->op].run(m, in);
            pc++;
            continue;
        }
        bool taken;
        uint32_t to = branch(m, pc, &taken);
        pc = tracer ? note_branch(m, tracer, pc, to, taken) : to;
    }
}

/* --- The program ------------------------------------------------------------------------------ */

/* Primes, the longest Collatz chain, and a sum over two nested loops with a call inside. */
static const char program[] = "        set r1 2\n"
                              "        set r2 60000\n" /* sieve: primes below */
                              "sieve:  load r3 r1\n"
                              "        set r4 0\n"
                              "        jeq r3 r4 prime\n"
                              "        jmp next\n"
                              "prime:  addi r13 r13 1\n"
                              "        add r5 r1 r1\n"
                              "        set r6 1\n"
                              "cross:  jge r5 r2 next\n"
                              "        store r5 r6\n"
                              "        add r5 r5 r1\n"
                              "        jmp cross\n"
                              "next:   addi r1 r1 1\n"
                              "        jlt r1 r2 sieve\n"
                              "        set r1 1\n"
                              "        set r2 20000\n" /* chains from below */
                              "chains: mov r3 r1\n"
                              "        set r4 0\n"
                              "        set r5 1\n"
                              "chain:  jeq r3 r5 ended\n"
                              "        call step\n"
                              "        addi r4 r4 1\n"
                              "        jmp chain\n"
                              "ended:  jge r14 r4 notbest\n"
                              "        mov r14 r4\n"
                              "notbest: addi r1 r1 1\n"
                              "        jlt r1 r2 chains\n"
                              "        jmp sums\n"
                              "step:   andi r6 r3 1\n"
                              "        jeq r6 r5 odd\n"
                              "        shri r3 r3 1\n"
                              "        ret\n"
                              "odd:    add r7 r3 r3\n"
                              "        add r3 r7 r3\n"
                              "        addi r3 r3 1\n"
                              "        ret\n"
                              "sums:   set r1 0\n"
                              "        set r2 600\n"
                              "rows:   set r3 0\n"
                              "columns: call mix\n"
                              "        addi r3 r3 1\n"
                              "        jlt r3 r2 columns\n"
                              "        addi r1 r1 1\n"
                              "        jlt r1 r2 rows\n"
                              "        halt\n"
                              "mix:    mul r4 r1 r3\n"
                              "        andi r4 r4 255\n"
                              "        add r15 r15 r4\n"
                              "        ret\n";

/* --- Reading it ------------------------------------------------------------------------------- */

struct label {
    char name[16];
    uint32_t pc;
};

struct reader {
    struct label labels[64];
    uint32_t n_labels;
};

static uint32_t find_label(const struct reader *reader, const char *name)
{
    for (uint32_t i = 0; i < reader->n_labels; i++)
        if (strcmp(reader->labels[i].name, name) == 0)
            return reader->labels[i].pc;
    die("no such label", name);
    return 0;
}

static struct insn read_insn(const struct reader *reader, char *words[], size_t n)
{
    struct insn in = {0};
    while (in.op < OPS && strcmp(op_info[in.op].name, words[0]) != 0)
        in.op++;
    if (in.op == OPS || strlen(op_info[in.op].operands) != n - 1)
        die("wrong instruction", words[0]);
    for (size_t i = 0, r = 0; i + 1 < n; i++) {
        const char *word = words[i + 1];
        switch (op_info[in.op].operands[i]) {
        case 'r': in.r[r++] = (uint8_t)(atoi(word + 1) & 15); break;
        case 'i': in.number = atoi(word); break;
        default: in.number = (int32_t)find_label(reader, word); break;
        }
    }
    return in;
}

/* Once for the labels, then for the instructions. */
static void read_program(struct machine *m)
{
    struct reader reader = {0};
    for (int pass = 0; pass < 2; pass++) {
        char text[sizeof program], *line, *rest = text;
        memcpy(text, program, sizeof program);
        m->n_code = 0;
        while ((line = strtok_r(rest, "\n", &rest))) {
            char *words[8], *save = line;
            size_t n = 0;
            while (n < 8 && (words[n] = strtok_r(save, " ", &save)))
                n++;
            size_t is_label = words[0][strlen(words[0]) - 1] == ':';
            if (is_label && pass == 0) {
                struct label *label = &reader.labels[reader.n_labels++];
                snprintf(label->name, sizeof label->name, "%.*s", (int)strlen(words[0]) - 1,
                         words[0]);
                label->pc = m->n_code;
            }
            if (pass == 1)
                m->code[m->n_code] = read_insn(&reader, words + is_label, n - is_label);
            m->n_code++;
        }
    }
}

/* --- Running it twice ------------------------------------------------------------------------- */

static struct machine *new_machine(void)
{
    struct machine *m = calloc(1, sizeof *m);
    if (!m)
        die("machine", "out of memory");
    read_program(m);
    return m;
}

/* [1] One predictor for each thread of the interpreted program. */
static void tracer_init(struct tracer *tracer, const char *scheme)
{
    struct hp_path_predictor_config config = {0};
    *tracer = (struct tracer){0};
    if (hp_scheme_parse(scheme, &config.scheme) != HP_OK ||
        hp_path_predictor_new(&config, &tracer->predictor) != HP_OK)
        die("predictor", hp_error_text());
}

static void tracer_fini(struct tracer *tracer)
{
    for (uint32_t pc = 0; pc < MAX_CODE; pc++) {
        if (tracer->at[pc])
            free(tracer->at[pc]->ops);
        free(tracer->at[pc]);
    }
    hp_path_predictor_free(tracer->predictor);
}

static void print_traces(const struct tracer *tracer)
{
    for (uint32_t pc = 0; pc < MAX_CODE; pc++)
        if (tracer->at[pc])
            printf("  trace from %2" PRIu32 ": %2" PRIu32 " operations, run %" PRIu64 " times\n",
                   pc, tracer->at[pc]->n, tracer->at[pc]->runs);
}

int main(int argc, char **argv)
{
    const char *scheme = argc > 1 ? argv[1] : "net:50";
    struct machine *plain = new_machine(), *traced = new_machine();
    struct tracer tracer;
    interpret(plain, NULL);
    tracer_init(&tracer, scheme);
    interpret(traced, &tracer);

    printf("without traces: %" PRIu64 " dispatches\n", plain->dispatches);
    printf("with %s: %" PRIu64 " dispatches, %.1f %% less, with %" PRIu32 " traces\n", scheme,
           traced->dispatches,
           100.0 - 100.0 * (double)traced->dispatches / (double)plain->dispatches, tracer.n_traces);
    print_traces(&tracer);
    const struct hp_path_predictor_stats *stats = hp_path_predictor_stats(tracer.predictor);
    printf("the predictor saw %" PRIu64 " branches and used %" PRIu64 " counters\n",
           stats->branches, stats->cost.counters);
    bool equal = memcmp(plain->r, traced->r, sizeof plain->r) == 0 &&
                 memcmp(plain->memory, traced->memory, sizeof plain->memory) == 0;
    printf("primes %" PRId64 ", longest chain %" PRId64 ", sum %" PRId64 ": the results are %s\n",
           traced->r[13], traced->r[14], traced->r[15], equal ? "equal" : "different");
    bool saved = traced->dispatches < plain->dispatches;
    tracer_fini(&tracer);
    free(plain);
    free(traced);
    return equal && saved ? 0 : 1;
}
