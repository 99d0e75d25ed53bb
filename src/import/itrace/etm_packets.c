// SPDX-License-Identifier: MIT
#include "import/itrace/etm_packets.h"

#include "base/base.h"
#include "hotpath/code.h"

#define FRAME   16   /* bytes */
#define FEED    4096 /* bytes that OpenCSD gets at once */
#define AHEAD   4096 /* elements that are searched for a time, at most */
#define LAST_ID 0x6f

/* --- Processors ------------------------------------------------------------------------------- */

void hp_etm_free(struct hp_etm *etm)
{
    if (etm)
        free(etm->cpus);
    free(etm);
}

const struct hp_etm_cpu *hp_etm_of_id(const struct hp_etm *etm, uint32_t id)
{
    for (size_t i = 0; i < etm->n_cpus; i++)
        if (etm->cpus[i].id == id)
            return &etm->cpus[i];
    return NULL;
}

/* The block of a processor at a place of what the file says; returns how long it is, 0: it is none.
 */
static size_t take_cpu(const struct hp_aux *aux, size_t at, bool has_count, struct hp_etm *etm)
{
    size_t left = aux->n_info - at, head = has_count ? 3 : 2, n = HP_PERF_ETM_REGISTERS_V0;
    const uint64_t *words = aux->info + at;
    if (left < head)
        return 0;
    if (has_count)
        n = words[2] < left - head ? (size_t)words[2] : left - head;
    if (left - head < n)
        n = left - head;
    if (words[0] == HP_PERF_ETM_MAGIC_V3 && !has_count)
        n = HP_PERF_ETM_REGISTERS_V3;
    if (words[0] == HP_PERF_ETM_MAGIC_V3)
        return head + n; /* an older kind, which is not read */
    if (words[0] != HP_PERF_ETM_MAGIC_V4 && words[0] != HP_PERF_ETM_MAGIC_ETE)
        return 0;
    struct hp_etm_cpu *cpu = &etm->cpus[etm->n_cpus++];
    *cpu =
        (struct hp_etm_cpu){.cpu = (uint32_t)words[1], .is_ete = words[0] == HP_PERF_ETM_MAGIC_ETE};
    for (size_t i = 0; i < n && i < HP_PERF_ETM_REGISTERS_; i++)
        cpu->registers[i] = words[head + i];
    cpu->id = cpu->registers[HP_PERF_ETM_TRACE_ID] & 0x7f;
    return head + n;
}

/* Ids that the kernel gave to processors while it recorded. */
static void take_ids(struct hp_etm *etm, const struct hp_itrace_sides *sides)
{
    for (size_t i = 0; i < sides->n_ids; i++)
        for (size_t j = 0; j < etm->n_cpus; j++)
            if (etm->cpus[j].cpu == sides->ids[i].cpu)
                etm->cpus[j].id = sides->ids[i].id & 0x7f;
}

static void take_times(struct hp_etm *etm, const struct hp_aux *aux)
{
    etm->knows_time = aux->multiplier > 0;
    for (size_t i = 0; i < etm->n_cpus; i++) {
        const struct hp_etm_cpu *cpu = &etm->cpus[i];
        uint64_t source =
            cpu->registers[cpu->is_ete ? HP_PERF_ETE_TIME_SOURCE : HP_PERF_ETM_TIME_SOURCE];
        etm->has_times |= (cpu->registers[HP_PERF_ETM_CONFIG] & HP_PERF_ETM_CONFIG_TIMES) > 0;
        etm->knows_time &= source == 1;
    }
    etm->shift = aux->shift;
    etm->multiplier = aux->multiplier;
    etm->zero = aux->zero;
}

enum hp_err hp_etm_new(const struct hp_perf_reader *reader, const struct hp_aux *aux,
                       const struct hp_itrace_sides *sides, struct hp_etm **etm)
{
    uint64_t version = aux->info[HP_PERF_ETM_VERSION];
    uint64_t n = aux->info[HP_PERF_ETM_PMU_CPUS] & UINT32_MAX;
    struct hp_etm *e;
    if (n > aux->n_info / 2)
        n = aux->n_info / 2;
    HP_TRY(hp_new(&e, 1, sizeof *e));
    *etm = e;
    *e = (struct hp_etm){.reader = reader};
    HP_TRY(hp_new(&e->cpus, (size_t)n, sizeof *e->cpus));
    if (version > 2)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "a trace of Arm ETM in version %" PRIu64
                       " of the format: hotpath knows up to 2",
                       version);
    for (size_t at = HP_PERF_ETM_CPUS_, size; n > 0; n--, at += size) {
        size = at < aux->n_info ? take_cpu(aux, at, version > 0, e) : 0;
        if (!size)
            break;
    }
    if (!e->n_cpus)
        return hp_fail(HP_ERR_UNSUPPORTED, "the trace is of no processor with ETMv4 or ETE");
    take_ids(e, sides);
    take_times(e, aux);
    ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
    return HP_OK;
}

/* --- Elements --------------------------------------------------------------------------------- */

/* Processors may take it back: it is uncertain until they commit to it. */
static unsigned weight(const struct hp_etm_element *e)
{
    switch (e->kind) {
    case HP_ETM_ATOMS: return e->n;
    case HP_ETM_EXCEPTION:
    case HP_ETM_SOURCE:
    case HP_ETM_UNKNOWN:
    case HP_ETM_NOTHING: return 1;
    default: return 0;
    }
}

/* The packets that come are those of a processor. */
static void set_cpu(struct hp_etm_packets *p, const struct hp_etm_cpu *cpu)
{
    p->cpu = cpu;
    p->most_uncertain = (uint32_t)cpu->registers[HP_PERF_ETM_ID8];
}

/* What comes before the first uncertain one is certain. */
static void settle(struct hp_etm_packets *p)
{
    while (p->ready < p->n && !weight(&p->elements[p->ready]))
        p->ready++;
}

static bool make_room(struct hp_etm_packets *p)
{
    if (hp_grow(&p->elements, &p->capacity, p->n + 1, sizeof *p->elements) != HP_OK)
        p->no_memory = true;
    return !p->no_memory;
}

/* The processor has done the oldest `count` uncertain ones. */
static void commit(struct hp_etm_packets *p, uint32_t count)
{
    uint32_t unseen = count < p->unseen ? count : p->unseen;
    p->unseen -= unseen;
    count -= unseen;
    while (count && p->ready < p->n) {
        struct hp_etm_element *e = &p->elements[p->ready];
        unsigned n = weight(e);
        if (n > count) { /* some of these atoms */
            if (!make_room(p))
                return;
            e = &p->elements[p->ready];
            memmove(e + 1, e, (p->n++ - p->ready) * sizeof *e);
            e[0].n = (uint8_t)count;
            e[1].n = (uint8_t)(n - count);
            e[1].bits >>= count;
            n = count;
        }
        p->ready++;
        count -= n;
        p->uncertain -= n;
    }
    settle(p);
}

static inline void add(struct hp_etm_packets *p, const struct hp_etm_element *element)
{
    if (p->n == p->capacity && !make_room(p))
        return;
    p->elements[p->n++] = *element;
    if (!p->most_uncertain) { /* as in most processors */
        p->ready = p->n;
        return;
    }
    unsigned n = weight(element);
    p->uncertain += n;
    uint32_t all = p->uncertain + p->unseen;
    if (all > p->most_uncertain)
        commit(p, all - p->most_uncertain);
    else if (!n)
        settle(p);
}

static void add_plain(struct hp_etm_packets *p, enum hp_etm_kind kind)
{
    add(p, &(struct hp_etm_element){.kind = (uint8_t)kind});
}

static void add_atoms(struct hp_etm_packets *p, const ocsd_pkt_atom *atoms)
{
    if (atoms->num)
        add(p, &(struct hp_etm_element){
                   .kind = HP_ETM_ATOMS, .n = atoms->num, .bits = atoms->En_bits});
}

/* The processor takes back the newest ones. Times stay. */
static void cancel(struct hp_etm_packets *p, uint32_t count)
{
    size_t i = p->n, kept = p->n;
    while (count && i > p->ready) {
        struct hp_etm_element e = p->elements[--i];
        unsigned n = weight(&e);
        if (e.kind == HP_ETM_TIME || n > count) {
            if (n > count) {
                e.n = (uint8_t)(n - count);
                p->uncertain -= count;
                count = 0;
            }
            p->elements[--kept] = e;
            continue;
        }
        p->uncertain -= n;
        count -= n;
    }
    memmove(p->elements + i, p->elements + kept, (p->n - kept) * sizeof *p->elements);
    p->n -= kept - i;
    if (count)
        p->unseen -= count < p->unseen ? count : p->unseen;
}

/* The newest outcome is the other one. */
static void mispredict(struct hp_etm_packets *p)
{
    for (size_t i = p->n; i-- > p->ready;) {
        struct hp_etm_element *e = &p->elements[i];
        if (e->kind == HP_ETM_ATOMS) {
            e->bits ^= 1u << (e->n - 1);
            return;
        }
    }
}

/* What is uncertain is gone. */
static void drop(struct hp_etm_packets *p)
{
    p->n = p->ready;
    p->uncertain = p->unseen = 0;
    p->excepts = false;
}

static void interrupt(struct hp_etm_packets *p, enum hp_etm_kind kind, enum hp_etm_wait waits)
{
    drop(p);
    add_plain(p, kind);
    p->waits = waits;
}

/* --- Packets ---------------------------------------------------------------------------------- */

static void add_address(struct hp_etm_packets *p, const ocsd_etmv4_i_pkt *packet)
{
    struct hp_etm_element e = {.kind = p->excepts ? HP_ETM_EXCEPTION : HP_ETM_ADDRESS,
                               .arrives = p->arrives,
                               .address = packet->v_addr.val};
    p->excepts = p->arrives = false;
    add(p, &e);
}

/* Which id is that of the thread, depends on where the kernel runs. */
static void add_context(struct hp_etm_packets *p, const ocsd_etmv4_i_pkt *packet)
{
    const etmv4_context_t *context = &packet->context;
    uint64_t config = p->cpu->registers[HP_PERF_ETM_CONFIG];
    bool vm = (config & HP_PERF_ETM_CONFIG_VM) && (config & HP_PERF_ETM_CONFIG_VM_OPT);
    p->has_id |=
        vm ? context->updated_v : context->updated_c && (config & HP_PERF_ETM_CONFIG_CONTEXT);
    add(p, &(struct hp_etm_element){.kind = HP_ETM_CONTEXT,
                                    .user = context->EL == 0,
                                    .is_64 = context->SF,
                                    .has_id = p->has_id,
                                    .id = vm ? context->VMID : context->ctxtID});
}

static void take_info(struct hp_etm_packets *p, const ocsd_etmv4_i_pkt *packet)
{
    if (p->waits == HP_ETM_WAITS_FOR_SYNC)
        return;
    if (p->waits) {
        p->waits = HP_ETM_WAITS_FOR_NOTHING;
        p->unseen = packet->pkt_valid.bits.spec_depth_valid ? packet->curr_spec_depth : 0;
        if (p->unseen > p->most_uncertain)
            p->unseen = p->most_uncertain;
    }
    add_plain(p, HP_ETM_SYNC);
}

/* Which of its elements a processor has done, and which not. */
static void take_speculation(struct hp_etm_packets *p, const ocsd_etmv4_i_pkt *packet)
{
    switch (packet->type) {
    case ETM4_PKT_I_COMMIT: commit(p, packet->commit_elements); break;
    case ETM4_PKT_I_CANCEL_F1: cancel(p, packet->cancel_elements); break;
    case ETM4_PKT_I_MISPREDICT:
        add_atoms(p, &packet->atom);
        mispredict(p);
        break;
    case ETM4_PKT_I_CANCEL_F1_MISPRED:
    case ETM4_PKT_I_CANCEL_F2:
    case ETM4_PKT_I_CANCEL_F3:
        add_atoms(p, &packet->atom);
        cancel(p, packet->cancel_elements);
        mispredict(p);
        break;
    default: /* cycle counts */
        if (packet->pkt_valid.bits.commit_elem_valid)
            commit(p, packet->commit_elements);
        break;
    }
}

static void take_other(struct hp_etm_packets *p, const ocsd_etmv4_i_pkt *packet)
{
    switch (packet->type) {
    case ETM4_PKT_I_TRACE_ON: add_plain(p, HP_ETM_ON); break;
    case ETM4_PKT_I_CTXT: add_context(p, packet); break;
    case ETM4_PKT_I_EXCEPT:
        p->excepts = true;
        p->arrives = packet->exception_info.addr_interp == 2;
        break;
    case ETM4_PKT_I_TIMESTAMP:
        add(p, &(struct hp_etm_element){.kind = HP_ETM_TIME, .address = packet->ts.timestamp});
        break;
    case ETM4_PKT_I_CCNT_F1:
    case ETM4_PKT_I_CCNT_F2:
    case ETM4_PKT_I_CCNT_F3:
    case ETM4_PKT_I_COMMIT:
    case ETM4_PKT_I_CANCEL_F1:
    case ETM4_PKT_I_CANCEL_F1_MISPRED:
    case ETM4_PKT_I_CANCEL_F2:
    case ETM4_PKT_I_CANCEL_F3:
    case ETM4_PKT_I_MISPREDICT: take_speculation(p, packet); break;
    case ETM4_PKT_I_OVERFLOW: interrupt(p, HP_ETM_OVERFLOW, HP_ETM_WAITS_FOR_INFO); break;
    case ETM4_PKT_I_DISCARD: interrupt(p, HP_ETM_GAP, HP_ETM_WAITS_FOR_INFO); break;
    case ETE_PKT_I_SRC_ADDR_MATCH:
    case ETE_PKT_I_SRC_ADDR_S_IS0:
    case ETE_PKT_I_SRC_ADDR_S_IS1:
    case ETE_PKT_I_SRC_ADDR_L_32IS0:
    case ETE_PKT_I_SRC_ADDR_L_32IS1:
    case ETE_PKT_I_SRC_ADDR_L_64IS0:
    case ETE_PKT_I_SRC_ADDR_L_64IS1:
        add(p, &(struct hp_etm_element){.kind = HP_ETM_SOURCE, .address = packet->v_addr.val});
        break;
    case ETM4_PKT_I_Q:
    case ETE_PKT_I_PE_RESET:
    case ETE_PKT_I_TRANS_FAIL: add_plain(p, HP_ETM_UNKNOWN); break;
    case ETE_PKT_I_TRANS_ST:
        if (!(p->cpu->registers[HP_PERF_ETM_ID0] >> 30 & 1))
            add_plain(p, HP_ETM_NOTHING);
        break;
    case ETM4_PKT_I_IGNORE:
    case ETM4_PKT_I_EVENT:
    case ETM4_PKT_I_EXCEPT_RTN:
    case ETM4_PKT_I_FUNC_RET:
    case ETE_PKT_I_TRANS_COMMIT:
    case ETE_PKT_I_COMMIT_WIN_MV:
    case ETE_PKT_I_TS_MARKER: break;
    default: interrupt(p, HP_ETM_GAP, HP_ETM_WAITS_FOR_SYNC); break;
    }
}

static void take_packet(struct hp_etm_packets *p, const ocsd_etmv4_i_pkt *packet)
{
    switch (packet->type) {
    case ETM4_PKT_I_ASYNC:
        if (p->waits == HP_ETM_WAITS_FOR_SYNC)
            p->waits = HP_ETM_WAITS_FOR_INFO;
        return;
    case ETM4_PKT_I_TRACE_INFO: take_info(p, packet); return;
    default: break;
    }
    if (p->waits)
        return;
    switch (packet->type) {
    case ETM4_PKT_I_ATOM_F1:
    case ETM4_PKT_I_ATOM_F2:
    case ETM4_PKT_I_ATOM_F3:
    case ETM4_PKT_I_ATOM_F4:
    case ETM4_PKT_I_ATOM_F5:
    case ETM4_PKT_I_ATOM_F6: add_atoms(p, &packet->atom); break;
    case ETM4_PKT_I_ADDR_CTXT_L_32IS0:
    case ETM4_PKT_I_ADDR_CTXT_L_32IS1:
    case ETM4_PKT_I_ADDR_CTXT_L_64IS0:
    case ETM4_PKT_I_ADDR_CTXT_L_64IS1:
        add_context(p, packet);
        add_address(p, packet);
        break;
    case ETM4_PKT_I_ADDR_MATCH:
    case ETM4_PKT_I_ADDR_S_IS0:
    case ETM4_PKT_I_ADDR_S_IS1:
    case ETM4_PKT_I_ADDR_L_32IS0:
    case ETM4_PKT_I_ADDR_L_32IS1:
    case ETM4_PKT_I_ADDR_L_64IS0:
    case ETM4_PKT_I_ADDR_L_64IS1: add_address(p, packet); break;
    default: take_other(p, packet); break;
    }
}

/* In the buffer of a thread, packets of another processor follow: the thread goes on there. */
static void take_cpu_of(struct hp_etm_packets *p, const struct hp_etm_cpu *cpu)
{
    if (p->cpu != cpu) {
        drop(p);
        p->has_id = false;
        set_cpu(p, cpu);
        interrupt(p, HP_ETM_ON, HP_ETM_WAITS_FOR_SYNC);
    }
}

static bool says_nothing(const ocsd_etmv4_i_pkt *packet)
{
    return packet->type == ETM4_PKT_I_NOTSYNC || packet->type == ETM4_PKT_I_INCOMPLETE_EOT;
}

static ocsd_datapath_resp_t take(const void *context, ocsd_datapath_op_t op, ocsd_trc_index_t index,
                                 const void *packet)
{
    const struct hp_etm_channel *channel = context;
    (void)index;
    if (op != OCSD_OP_DATA || !packet || channel->packets->no_memory || says_nothing(packet))
        return OCSD_RESP_CONT;
    take_cpu_of(channel->packets, channel->cpu);
    take_packet(channel->packets, packet);
    return OCSD_RESP_CONT;
}

/* --- OpenCSD ---------------------------------------------------------------------------------- */

/* ETE is taken for ETMv4 of version 5, which is how OpenCSD treats it as well: the C interface of
 * OpenCSD 1.3 has no packets of what it calls ETE. */
static uint32_t version_of(const struct hp_etm_cpu *cpu)
{
    uint32_t id1 = (uint32_t)cpu->registers[HP_PERF_ETM_ID1];
    uint32_t devarch = (uint32_t)cpu->registers[HP_PERF_ETE_DEVARCH];
    uint32_t major = devarch >> 12 & 15, minor = devarch >> 16 & 15;
    return cpu->is_ete ? (id1 & ~0xff0u) | major << 8 | minor << 4 : id1;
}

static void add_decoder(struct hp_etm_packets *p, size_t which)
{
    struct hp_etm_channel *channel = &p->channels[which];
    const struct hp_etm_cpu *cpu = channel->cpu;
    const uint64_t *r = cpu->registers;
    unsigned char id;
    const ocsd_etmv4_cfg config = {.reg_idr0 = (uint32_t)r[HP_PERF_ETM_ID0],
                                   .reg_idr1 = version_of(cpu),
                                   .reg_idr2 = (uint32_t)r[HP_PERF_ETM_ID2],
                                   .reg_idr8 = (uint32_t)r[HP_PERF_ETM_ID8],
                                   .reg_configr = (uint32_t)r[HP_PERF_ETM_CONFIG],
                                   .reg_traceidr = cpu->id,
                                   .arch_ver = cpu->is_ete ? ARCH_AA64 : ARCH_V8,
                                   .core_prof = profile_CortexA};
    /* One that cannot be added is that of another id, or none. */
    if (ocsd_dt_create_decoder(p->tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_PACKET_PROC,
                               &config, &id) == OCSD_OK)
        p->no_memory |= ocsd_dt_attach_packet_callback(p->tree, id, OCSD_C_API_CB_PKT_SINK,
                                                       (void *)take, channel) != OCSD_OK;
}

static void close_tree(struct hp_etm_packets *p)
{
    if (p->tree)
        ocsd_destroy_dcd_tree(p->tree);
    p->tree = NULL;
}

/* `cpu`: it wrote the bytes, which are not in frames; NULL: they are. */
static void open_tree(struct hp_etm_packets *p, const struct hp_etm_cpu *cpu, bool raw)
{
    close_tree(p);
    p->fed = 0;
    p->raw = raw;
    p->raw_cpu = cpu;
    p->tree =
        ocsd_create_dcd_tree(raw ? OCSD_TRC_SRC_SINGLE : OCSD_TRC_SRC_FRAME_FORMATTED,
                             raw ? 0 : OCSD_DFRMTR_FRAME_MEM_ALIGN | OCSD_DFRMTR_RESET_ON_4X_FSYNC);
    p->no_memory |= p->tree == C_API_INVALID_TREE_HANDLE;
    for (size_t i = 0; !p->no_memory && i < p->etm->n_cpus; i++) {
        const struct hp_etm_cpu *one = &p->etm->cpus[i];
        if ((raw && one != cpu) || (p->id != HP_NO_ID && one->id != p->id) || one->id > LAST_ID)
            continue;
        add_decoder(p, i);
    }
}

enum hp_err hp_etm_packets_open(const struct hp_etm *etm, const struct hp_itrace_buffer *buffer,
                                const struct hp_itrace_stop *stops, size_t n_stops, uint32_t id,
                                struct hp_etm_packets *p)
{
    *p = (struct hp_etm_packets){.etm = etm,
                                 .buffer = *buffer,
                                 .stops = stops,
                                 .n_stops = n_stops,
                                 .id = id,
                                 .waits = HP_ETM_WAITS_FOR_SYNC};
    set_cpu(p, etm->cpus);
    HP_TRY(hp_new(&p->channels, etm->n_cpus, sizeof *p->channels));
    for (size_t i = 0; i < etm->n_cpus; i++)
        p->channels[i] = (struct hp_etm_channel){p, &etm->cpus[i]};
    return HP_OK;
}

void hp_etm_packets_close(struct hp_etm_packets *p)
{
    close_tree(p);
    hp_itrace_buffer_close(&p->buffer);
    free(p->channels);
    free(p->elements);
}

/* --- The buffer ------------------------------------------------------------------------------- */

/* How many stops are up to an offset. */
static size_t stops_up_to(const struct hp_itrace_stop *stops, size_t n, uint64_t offset)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stops[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What the kernel put there at once: the last stop up to there that says so; NULL: none does. */
static const struct hp_itrace_stop *put_at(const struct hp_itrace_stop *stops, size_t n)
{
    while (n > 0 && !stops[n - 1].begins)
        n--;
    return n ? &stops[n - 1] : NULL;
}

/* Which processor wrote what is not in frames; where that is not said, they are taken for equal. */
static const struct hp_etm_cpu *writer_of(const struct hp_etm *etm,
                                          const struct hp_itrace_stop *put)
{
    for (size_t i = 0; i < etm->n_cpus; i++)
        if (etm->cpus[i].cpu == (uint32_t)put->cpu)
            return &etm->cpus[i];
    return etm->cpus;
}

/* What the kernel put there at once begins: what came before is over. */
static void begin_put(struct hp_etm_packets *p)
{
    uint64_t offset = hp_itrace_buffer_offset(&p->buffer);
    size_t n = stops_up_to(p->stops, p->n_stops, offset);
    const struct hp_itrace_stop *put = put_at(p->stops, n);
    bool raw = put && put->raw, lost = false, said = false;
    for (; n > 0 && p->stops[n - 1].offset == offset; n--) {
        said |= p->stops[n - 1].lost && !p->stops[n - 1].begins;
        lost |= p->stops[n - 1].lost && p->stops[n - 1].begins;
    }
    open_tree(p, raw ? writer_of(p->etm, put) : NULL, raw);
    interrupt(p, said ? HP_ETM_GAP : lost ? HP_ETM_LOSS : HP_ETM_ON, HP_ETM_WAITS_FOR_SYNC);
}

/* Bytes that are no frames. */
static void fail(struct hp_etm_packets *p, size_t used)
{
    uint32_t n = 0;
    p->buffer.at += used;
    ocsd_dt_process_data(p->tree, OCSD_OP_RESET, 0, 0, NULL, &n);
    p->fed = 0;
    interrupt(p, HP_ETM_GAP, HP_ETM_WAITS_FOR_SYNC);
}

/* Gives OpenCSD some bytes; false: there are none that follow. */
static bool feed(struct hp_etm_packets *p)
{
    struct hp_itrace_buffer *b = &p->buffer;
    size_t unit = p->raw ? 1 : FRAME;
    uint32_t used = 0;
    hp_itrace_buffer_has(b, FEED);
    size_t size = b->n - b->at < FEED ? b->n - b->at : FEED;
    size -= size % unit;
    if (!size)
        return false;
    ocsd_datapath_resp_t answer = ocsd_dt_process_data(p->tree, OCSD_OP_DATA, p->fed,
                                                       (uint32_t)size, b->window + b->at, &used);
    if (OCSD_DATA_RESP_IS_FATAL(answer) || !used || used > size) {
        fail(p, used && used <= size ? used : unit);
        return true;
    }
    b->at += used;
    p->fed += used;
    return true;
}

/* Room for more: what was used goes. */
static void clean(struct hp_etm_packets *p)
{
    memmove(p->elements, p->elements + p->at, (p->n - p->at) * sizeof *p->elements);
    p->n -= p->at;
    p->ready -= p->at;
    p->at = 0;
}

bool hp_etm_packets_read(struct hp_etm_packets *p)
{
    size_t before = p->ready - p->at;
    if (p->at)
        clean(p);
    while (p->ready == before && !p->no_memory && !p->ended) {
        if (!p->tree) {
            open_tree(p, NULL, false);
            if (p->buffer.piece < p->buffer.end)
                begin_put(p);
            continue;
        }
        if (feed(p))
            continue;
        if (hp_itrace_buffer_go_on(&p->buffer))
            begin_put(p);
        else
            p->ended = true;
    }
    return p->ready > before;
}

uint64_t hp_etm_packets_ahead(struct hp_etm_packets *p)
{
    if (!p->etm->has_times)
        return 0;
    for (size_t i = 0; i < AHEAD; i++) {
        if (p->at + i == p->ready && !hp_etm_packets_read(p))
            return 0;
        const struct hp_etm_element *e = &p->elements[p->at + i];
        switch (e->kind) {
        case HP_ETM_TIME: return e->address;
        case HP_ETM_EXCEPTION:
        case HP_ETM_ON:
        case HP_ETM_OVERFLOW:
        case HP_ETM_GAP:
        case HP_ETM_LOSS: return 0;
        default: break;
        }
    }
    return 0;
}

/* --- Ids -------------------------------------------------------------------------------------- */

static void see_frames(const uint8_t *bytes, size_t size, bool seen[128])
{
    for (size_t at = 0; at + FRAME <= size; at += FRAME)
        for (size_t i = 0; i < FRAME; i += 2)
            if (bytes[at + i] & 1)
                seen[bytes[at + i] >> 1] = true;
}

size_t hp_etm_ids(const struct hp_etm *etm, struct hp_itrace_buffer *b,
                  const struct hp_itrace_stop *stops, size_t n_stops, uint32_t ids[128])
{
    bool seen[128] = {false};
    size_t n = 0;
    do {
        size_t before =
            b->piece < b->end ? stops_up_to(stops, n_stops, hp_itrace_buffer_offset(b)) : 0;
        const struct hp_itrace_stop *put = put_at(stops, before);
        const struct hp_etm_cpu *cpu = put && put->raw ? writer_of(etm, put) : NULL;
        if (cpu)
            seen[cpu->id] = true;
        while (hp_itrace_buffer_has(b, FRAME)) {
            size_t size = b->n - b->at;
            if (!put || !put->raw)
                see_frames(b->window + b->at, size, seen);
            b->at += size < FRAME ? size : size - size % FRAME;
        }
    } while (hp_itrace_buffer_go_on(b));
    for (uint32_t id = 0; id <= LAST_ID; id++)
        if (seen[id] && hp_etm_of_id(etm, id))
            ids[n++] = id;
    return n;
}
