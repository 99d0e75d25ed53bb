// SPDX-License-Identifier: MIT
#include "hotpath/stream.h"

int hp_word_payload(uint32_t word)
{
    switch ((enum hp_word_kind)hp_word_kind(word)) {
    case HP_WORD_PAD:
    case HP_WORD_END:
    case HP_WORD_SIGNAL:
    case HP_WORD_SIGRETURN:
    case HP_WORD_CUT:
    case HP_WORD_EXEC_FAILED: return 0;
    case HP_WORD_PART:
    case HP_WORD_FORK:
    case HP_WORD_EXEC:
    case HP_WORD_MODULE:
    case HP_WORD_COUNTING: return 1;
    case HP_WORD_LOST:
    case HP_WORD_HANDLER:
    case HP_WORD_HANDED: return 2;
    case HP_WORD_MOVED:
    case HP_WORD_SYSCALL: return 4;
    case HP_WORD_FRAME: return 3;
    case HP_WORD_KIND_COUNT_: break;
    }
    return -1;
}

bool hp_syscall_read(const uint32_t *words, struct hp_syscall *call)
{
    uint32_t arg = hp_word_arg(words[0]), end = arg / HP_CALL_ERRORS;
    bool timed = end != HP_CALL_UNTIMED && end != HP_CALL_CUT_OFF_UNTIMED;
    uint64_t ns = words[2] | (uint64_t)words[3] << 32;
    *call = (struct hp_syscall){.number = words[1],
                                .error = arg % HP_CALL_ERRORS,
                                .ns = timed && ns < INT64_MAX ? ns : 0,
                                .block = HP_NO_ID,
                                .counts = end != HP_CALL_REPEATED,
                                .timed = timed,
                                .returned = end < HP_CALL_CUT_OFF};
    return end < HP_CALL_END_COUNT_;
}

const char *hp_lost_reason_text(enum hp_lost_reason reason)
{
    switch (reason) {
    case HP_LOST_NONE: return "for no known reason";
    case HP_LOST_CODE_FULL: return "the code map is full";
    case HP_LOST_UNKNOWN: return "the stream names code that is not in the code map";
    case HP_LOST_DETACHED: return "hotpath stopped reading";
    case HP_LOST_RECORD: return "part of the trace is damaged";
    case HP_LOST_ADDRESSES: return "addresses of memory operands are missing";
    case HP_LOST_ABORTED: return "the kernel aborted restartable sequences (rseq) in the middle";
    case HP_LOST_UNFINISHED: return "a thread was killed while it counted, in the middle of paths";
    case HP_LOST_REASON_COUNT_: break;
    }
    return "for an unknown reason";
}

const char *hp_event_name(enum hp_event_kind kind)
{
    switch (kind) {
    case HP_EVENT_SIGNAL: return "signal";
    case HP_EVENT_SIGRETURN: return "sigreturn";
    case HP_EVENT_TAIL: return "tail";
    case HP_EVENT_LOST: return "lost";
    case HP_EVENT_DISCONTINUITY: return "discontinuity";
    case HP_EVENT_FORK: return "fork";
    case HP_EVENT_EXEC: return "exec";
    case HP_EVENT_EXEC_FAILED: return "exec_failed";
    case HP_EVENT_MODULE: return "module";
    case HP_EVENT_END: return "end";
    case HP_EVENT_COUNTING: return "counting";
    case HP_EVENT_FRAME: return "frame";
    case HP_EVENT_HANDED: return "handed";
    case HP_EVENT_KIND_COUNT_: break;
    }
    return "unknown";
}
